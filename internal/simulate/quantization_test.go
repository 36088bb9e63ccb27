// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snug/internal/family"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// qlora returns a setup with quantized weights.
func qlora(config map[string]any, head string) *setup.Setup {
	return &setup.Setup{
		Model: setup.Model{Config: config, Head: head}, Batch: 1, Seq: 16, Precision: "amp-bf16", Weights: "bf16",
		Optimizer: "adamw", Attention: "sdpa", Steps: 1,
		LoRA:         &setup.LoRA{Rank: 4, Targets: []string{setup.AllLinear}, PEFT: true},
		Quantization: &setup.Quantization{Bits: 4, Type: "nf4", Compute: "bf16"},
	}
}

// TestQuantizedLayers compares the quantized layers with those that transformers 5.17 replaces with Linear4bit,
// in models of two blocks. The file omits the second block, because it is like the first.
func TestQuantizedLayers(t *testing.T) {
	data, err := os.ReadFile("testdata/quantized_layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Fields(line)
		if !slices.Contains(family.Known(), f[0]) {
			continue // not simulated yet
		}
		t.Run(f[0]+" "+f[1], func(t *testing.T) {
			config := map[string]any{"model_type": f[0]}
			for _, key := range []string{"num_hidden_layers", "n_layer", "n_layers", "num_layers"} {
				config[key] = 2.0
			}
			want := strings.Split(f[2], ",")
			r := &run{s: qlora(config, f[1])}
			if err := r.load(); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(r.builder.QuantizedLayers(), func(name string) bool { return strings.Contains(name, ".1.") })
			slices.Sort(got)
			slices.Sort(want)
			for i, name := range want { // transformers omits the first name if the model has no head
				if i < len(got) && strings.HasSuffix(got[i], "."+name) {
					got[i] = name
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if _, err := Run(r.s, Options{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestQuantizedOrder compares the order in which parameters are loaded with the order in a quantized from_pretrained
// of transformers 5.17, for a Qwen2 with 11 blocks.
func TestQuantizedOrder(t *testing.T) {
	data, err := os.ReadFile("testdata/quantized_order.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := qlora(map[string]any{
		"model_type": "qwen2", "hidden_size": 128.0, "intermediate_size": 256.0, "num_hidden_layers": 11.0,
		"num_attention_heads": 4.0, "num_key_value_heads": 2.0, "vocab_size": 300.0, "tie_word_embeddings": false,
	}, "causal-lm")
	r := &run{s: s}
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range r.w.Trace.Events {
		if path := r.w.Tags[e.ID].Path; e.Kind == stream.Alloc && path != "" && !slices.Contains(got, path) && !strings.Contains(path, ".A.") && !strings.Contains(path, ".B.") {
			got = append(got, path)
		}
	}
	if diff := cmp.Diff(strings.Fields(string(data)), got); diff != "" {
		t.Error(diff)
	}
}

// TestQuantizedBytes computes the size of llama-3.2-1b's weights by hand, as bitsandbytes documents it: 4 bits
// per number, and for each block of 64 numbers a scale in float32, or in 8 bits with a float32 scale for every
// 256 scales.
func TestQuantizedBytes(t *testing.T) {
	numbers := 0
	for _, shape := range [][2]int{{2048, 2048}, {512, 2048}, {512, 2048}, {2048, 2048}, {8192, 2048}, {8192, 2048}, {2048, 8192}} {
		numbers += 16 * shape[0] * shape[1]
	}
	for _, c := range []struct{ double, saved bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		double := c.double
		s, err := setup.Decode(map[string]any{
			"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 1.0, "seq": 16.0, "precision": "bf16",
			"lora":         map[string]any{"rank": 8.0, "peft": true, "targets": []any{setup.AllLinear}},
			"quantization": map[string]any{"bits": 4.0, "double": double},
		}, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		s.Steps, s.Quantization.Saved = 0, c.saved
		r, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		size, got := map[uint32]int{}, 0
		for _, e := range r.World.Trace.Events {
			tag := r.World.Tags
			switch quantized := e.Kind != stream.Mark && strings.Contains(tag[e.ID].Path, "_proj.") && !strings.Contains(tag[e.ID].Path, ".A.") && !strings.Contains(tag[e.ID].Path, ".B."); {
			case quantized && e.Kind == stream.Alloc:
				size[e.ID], got = int(e.Size), got+int(e.Size)
			case quantized && e.Kind == stream.Free:
				got -= size[e.ID]
			}
		}
		want := numbers/2 + numbers/64*4 + 16*7*16*4
		if double {
			want = numbers/2 + numbers/64 + numbers/64/256*4 + 16*7*(16*4+256*4+4)
		}
		if double && !c.saved {
			want += 256 * 4 // a table that is allocated only once
		}
		if got != want {
			t.Errorf("double %v: %d bytes, want %d", double, got, want)
		}
		if all, _ := r.Params, r.Trainable; all-r.Trainable != 1235814400 {
			t.Errorf("%d frozen parameters, want 1235814400", all-r.Trainable)
		}
	}
}

// TestSavedEightBits computes what a checkpoint with 8-bit weights leaves on the card, by hand: a byte per number and
// a float32 scale per row. The checkpoint's tensors that name the formats are freed.
func TestSavedEightBits(t *testing.T) {
	s := qlora(map[string]any{
		"model_type": "llama", "hidden_size": 256.0, "intermediate_size": 512.0, "num_hidden_layers": 1.0,
		"num_attention_heads": 4.0, "num_key_value_heads": 2.0, "vocab_size": 1000.0, "tie_word_embeddings": false,
	}, "causal-lm")
	s.Quantization = &setup.Quantization{Bits: 8, Saved: true}
	r := &run{s: s}
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	alive := map[uint32]uint64{}
	for _, e := range r.w.Trace.Events {
		if path := r.w.Tags[e.ID].Path; strings.Contains(path, "_proj.") && !strings.Contains(path, ".A.") && !strings.Contains(path, ".B.") {
			if e.Kind == stream.Alloc {
				alive[e.ID] = e.Size
			} else if e.Kind == stream.Free {
				delete(alive, e.ID)
			}
		}
	}
	got, want := uint64(0), uint64(0)
	for _, size := range alive {
		got += size
	}
	for _, shape := range [][2]uint64{{256, 256}, {128, 256}, {128, 256}, {256, 256}, {512, 256}, {512, 256}, {256, 512}} {
		want += shape[0]*shape[1] + shape[0]*4
	}
	if got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

// TestQuantizedLeavesNothing draws runs with quantized weights, and checks that each step leaves as much memory
// as the previous one, even if parts are copied instead of simulated.
func TestQuantizedLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, words ...string) string { return rapid.SampledFrom(words).Draw(t, name) }
		config := map[string]any{
			"model_type":  pick("family", append(family.Types(func(f family.Facts) bool { return f.Quantizes && f.Liger }), "opt")...),
			"hidden_size": 64.0, "num_hidden_layers": 2.0, "num_attention_heads": 4.0, "num_key_value_heads": 2.0, "head_dim": 16.0,
			"intermediate_size": 96.0, "num_experts": 4.0, "num_local_experts": 4.0, "num_experts_per_tok": 2.0, "vocab_size": 300.0,
			"moe_intermediate_size": 32.0, "pad_token_id": 0.0, "ffn_dim": 96.0, "word_embed_proj_dim": 64.0,
		}
		s := qlora(config, "causal-lm")
		s.Batch, s.Seq = rapid.IntRange(1, 3).Draw(t, "batch"), rapid.IntRange(1, 40).Draw(t, "seq")
		s.Accumulation, s.Checkpointing = rapid.IntRange(1, 3).Draw(t, "accumulation"), rapid.Bool().Draw(t, "checkpointing")
		s.Quantization.Double, s.Quantization.Prepare = rapid.Bool().Draw(t, "double"), rapid.Bool().Draw(t, "prepare")
		s.Quantization.Compute = pick("compute", "bf16", "fp32")
		if pick("precision", "amp-bf16", "bf16") == "bf16" {
			s.Precision, s.Weights = "bf16", ""
		}
		s.Versions.BitsAndBytes = pick("bitsandbytes", "", "0.49.2")
		s.Attention, s.Loss = pick("attention", "sdpa", "eager", "flash"), pick("loss", "", setup.TRLLoss, setup.LigerLoss)
		if s.Quantization.Prepare {
			s.Quantization.CastBack = rapid.Bool().Draw(t, "cast_back")
		}
		if config["model_type"] != "opt" { // Liger has no kernels for opt
			s.Liger = rapid.SliceOfDistinct(rapid.SampledFrom(setup.LigerParts), rapid.ID[string]).Draw(t, "liger")
		} else if s.Loss == setup.LigerLoss {
			s.Loss = ""
		}
		if rapid.Bool().Draw(t, "eight") {
			s.Quantization = &setup.Quantization{Bits: 8, Prepare: s.Quantization.Prepare, CastBack: s.Quantization.CastBack}
			s.Versions.BitsAndBytes = ""
		}
		packed := rapid.Bool().Draw(t, "packed")
		if packed {
			s.Quantization = &setup.Quantization{Bits: 4, Method: pick("method", setup.GPTQ, setup.AWQ), Group: 32}
			s.Versions.Transformers = pick("transformers", "4.50", "5.1")
		}
		s.Quantization.Adapters, s.Clip = pick("adapters", "", "bf16"), rapid.Bool().Draw(t, "clip")
		s.Optimizer = pick("optimizer", "adamw", "adamw-fused", "adamw-8bit", "lion")
		if !packed && rapid.Bool().Draw(t, "ddp") {
			s.Dist = setup.Over("ddp", 2)
		}
		s.LoRA.Dropout = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "dropout")
		s.Steps = 2
		two := alive(t, s)
		s.Steps = 4
		if four := alive(t, s); four != two {
			t.Fatalf("%d bytes are live after four steps, %d after two", four, two)
		}
		run, err := Run(s, Options{Log: func(*shadow.World, string) {}})
		if err != nil {
			t.Fatal(err)
		}
		written, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r, w := sizes(run), sizes(written); !slices.Equal(r, w) {
			t.Fatalf("%d simulated events, %d copied", len(r), len(w))
		}
	})
}

// sizes returns the allocations and frees of a run, in order.
func sizes(r *Result) (out []int) {
	size := map[uint32]int{}
	for _, e := range r.World.Trace.Events {
		switch e.Kind {
		case stream.Alloc:
			size[e.ID] = int(e.Size)
			out = append(out, int(e.Size))
		case stream.Free:
			out = append(out, -size[e.ID])
		}
	}
	return out
}

// TestQuantizedClassifiers checks which heads bitsandbytes quantizes: in transformers 5 those with a bias; in earlier
// releases, none. QLoRA of a decoder that classifies trains its score layer with modules_to_save.
func TestQuantizedClassifiers(t *testing.T) {
	for _, c := range []struct {
		model, head, save, transformers string
		quantized                       bool
	}{
		{"mistral-7b", "sequence-classification", "score", "", false},
		{"bert-base", "sequence-classification", "classifier", "", true},
		{"bert-base", "sequence-classification", "classifier", "4.57", false},
	} {
		fields := map[string]any{
			"model": map[string]any{"name": c.model, "head": c.head}, "batch": 1.0, "seq": 16.0, "precision": "amp-bf16",
			"lora":         map[string]any{"rank": 4.0, "peft": true, "save": []any{c.save}},
			"quantization": map[string]any{"bits": 4.0},
		}
		if c.transformers != "" {
			fields["versions"] = map[string]any{"transformers": c.transformers}
		}
		s, err := decoded(t, fields)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(s, Options{})
		if refused := err != nil && strings.Contains(err.Error(), "its weight is quantized"); refused != c.quantized {
			t.Errorf("%s with %s: %v", c.model, c.save, err)
		}
	}
}
