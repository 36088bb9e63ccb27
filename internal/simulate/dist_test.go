// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"strings"
	"testing"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/stream"
)

func smallLlama() *setup.Setup {
	return &setup.Setup{
		Model: setup.Model{Head: "causal-lm", Config: map[string]any{
			"model_type": "llama", "vocab_size": 1000.0, "hidden_size": 256.0, "intermediate_size": 512.0,
			"num_hidden_layers": 3.0, "num_attention_heads": 4.0,
		}},
		Batch: 2, Seq: 64, Precision: "bf16", Optimizer: "adamw", Attention: "sdpa", Steps: 4,
	}
}

// aliveAfterSteps returns the bytes allocated at the end of each step.
func aliveAfterSteps(t *testing.T, s *setup.Setup) []uint64 {
	t.Helper()
	var ends []int
	res, err := Run(s, Options{Log: func(w *shadow.World, op string) {
		if op == "# step ends" {
			ends = append(ends, len(w.Trace.Events))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var out []uint64
	size, alive := map[uint32]uint64{}, uint64(0)
	for i, e := range res.World.Trace.Events {
		if len(ends) > 0 && i == ends[0] {
			out, ends = append(out, alive), ends[1:]
		}
		switch e.Kind {
		case stream.Alloc:
			size[e.ID] = e.Size
			alive += e.Size
		case stream.Free:
			if _, ok := size[e.ID]; !ok {
				t.Fatalf("event %d frees %d, which is not allocated", i, e.ID)
			}
			alive -= size[e.ID]
			delete(size, e.ID)
		}
	}
	for range ends {
		out = append(out, alive)
	}
	return out
}

// TestStepsLeaveWhatTheyFound checks that later steps leave as much memory allocated as the second, for every way
// of distributing a run.
func TestStepsLeaveWhatTheyFound(t *testing.T) {
	variants := map[string]func(s *setup.Setup){
		"plain":         func(*setup.Setup) {},
		"checkpointing": func(s *setup.Setup) { s.Checkpointing = true },
		"accumulation":  func(s *setup.Setup) { s.Accumulation = 2 },
		"clip":          func(s *setup.Setup) { s.Clip = true },
		"lora":          func(s *setup.Setup) { s.LoRA = &setup.LoRA{Rank: 4, Targets: []string{"q_proj"}} },
		"peft": func(s *setup.Setup) {
			s.Precision, s.LoRA = "bf16", &setup.LoRA{Rank: 4, Targets: []string{"q_proj", "down_proj"}, PEFT: true}
		},
		"peft saved": func(s *setup.Setup) {
			s.Precision, s.Weights, s.LoRA = "amp-bf16", "bf16", &setup.LoRA{Rank: 4, Targets: []string{"q_proj"}, PEFT: true, Save: []string{"embed_tokens", "lm_head"}}
		},
		"dora": func(s *setup.Setup) {
			s.LoRA = &setup.LoRA{Rank: 4, Targets: []string{"q_proj"}, PEFT: true, DoRA: true, Dropout: 0.1}
		},
		"tied":     func(s *setup.Setup) { s.Model.Config["tie_word_embeddings"] = true },
		"amp":      func(s *setup.Setup) { s.Precision = "amp-bf16" },
		"as saved": func(s *setup.Setup) { s.Precision, s.Weights = "amp-bf16", "bf16" },
	}
	for _, kind := range setup.DistKinds {
		for name, change := range variants {
			t.Run(kind+"/"+name, func(t *testing.T) {
				s := smallLlama()
				s.Dist = setup.Over(kind, 4)
				change(s)
				got := aliveAfterSteps(t, s)
				if got[1] != got[2] || got[2] != got[3] {
					t.Errorf("allocated after each step: %v", got)
				}
			})
		}
	}
}

// TestWeightsAreKeptAsLoaded checks that weights loaded in bfloat16 stay in bfloat16, along with their states,
// buckets and copies, as in a bfloat16 run: autocast keeps nothing between steps.
func TestWeightsAreKeptAsLoaded(t *testing.T) {
	for _, kind := range append(setup.DistKinds, "") {
		plain, loaded := smallLlama(), smallLlama()
		loaded.Precision, loaded.Weights = "amp-bf16", "bf16"
		if kind != "" {
			plain.Dist, loaded.Dist = setup.Over(kind, 4), setup.Over(kind, 4)
		}
		if want, got := aliveAfterSteps(t, plain), aliveAfterSteps(t, loaded); !slices.Equal(got, want) {
			t.Errorf("%q: allocated after each step: %v, want %v", kind, got, want)
		}
	}
}

// TestShardedLoads checks that a GPU keeps the same shard of the weights however they are loaded, and that it
// never has all of them if they are loaded sharded.
func TestShardedLoads(t *testing.T) {
	variants := map[string]func(s *setup.Setup){
		"plain": func(*setup.Setup) {},
		"tied":  func(s *setup.Setup) { s.Model.Config["tie_word_embeddings"] = true },
		"amp":   func(s *setup.Setup) { s.Precision = "amp-bf16" },
		"cast":  func(s *setup.Setup) { s.Dist.ParamDType, s.Dist.ReduceDType = "bf16", "fp32" },
		"lora":  func(s *setup.Setup) { s.LoRA = &setup.LoRA{Rank: 4, Targets: []string{"q_proj"}} },
		"peft saved": func(s *setup.Setup) {
			s.LoRA = &setup.LoRA{Rank: 4, Targets: []string{"q_proj"}, PEFT: true, Save: []string{"lm_head"}}
		},
		"dora": func(s *setup.Setup) {
			s.LoRA = &setup.LoRA{Rank: 4, Targets: []string{"q_proj"}, PEFT: true, DoRA: true}
		},
	}
	for _, kind := range []string{"fsdp2", "fsdp2-noreshard", "zero3"} {
		for name, change := range variants {
			t.Run(kind+"/"+name, func(t *testing.T) {
				of := func(load string) *setup.Setup {
					s := smallLlama()
					s.Dist = setup.Over(kind, 4)
					s.Dist.Load = load
					change(s)
					return s
				}
				if want, got := aliveAfterSteps(t, of(setup.LoadWhole)), aliveAfterSteps(t, of(setup.LoadSharded)); !slices.Equal(got, want) {
					t.Errorf("allocated after each step: %v, want %v", got, want)
				}
				whole, sharded := parametersInLoad(t, of(setup.LoadWhole)), parametersInLoad(t, of(setup.LoadSharded))
				if sharded >= whole { // ZeRO-3 does not shard small parameters, which make up much of this model
					t.Errorf("parameters peak at %d bytes if loaded sharded, %d if loaded whole", sharded, whole)
				}
			})
		}
	}
}

// parametersInLoad returns the peak memory of parameters during loading.
func parametersInLoad(t *testing.T, s *setup.Setup) uint64 {
	t.Helper()
	return most(t, s, func(e stream.Event, tag shadow.Tag) bool { return tag.Component == shadow.Parameters }, true)
}

// TestShardsShrink checks that FSDP2 shards parameters and states: eight processes need
// less memory each than two, and two less than one.
func TestShardsShrink(t *testing.T) {
	after := func(world int) uint64 {
		s := smallLlama()
		if world > 1 {
			s.Dist = setup.Over("fsdp2", world)
		}
		return aliveAfterSteps(t, s)[3]
	}
	if one, two, eight := after(1), after(2), after(8); !(eight < two && two < one) {
		t.Errorf("one process keeps %d, two %d each, eight %d each", one, two, eight)
	}
}

// TestStages checks that DeepSpeed's stage 1 keeps as much memory between steps as its stage 2, that PyTorch's own
// ZeRO-1 has no float32 copies, and that stage 1 holds all gradients at once during backward.
func TestStages(t *testing.T) {
	of := func(kind string) *setup.Setup {
		s := smallLlama()
		s.Dist, s.Accumulation = setup.Over(kind, 4), 3
		return s
	}
	first, second, own := aliveAfterSteps(t, of("zero1-deepspeed"))[3], aliveAfterSteps(t, of("zero2"))[3], aliveAfterSteps(t, of("zero1"))[3]
	if first != second || own >= first {
		t.Errorf("after a step stage 1 keeps %d, stage 2 %d, PyTorch's own %d", first, second, own)
	}
	whole := gradientsAtMost(t, of("zero1-deepspeed"))
	params, _ := smallLlamaCount(t)
	if want := uint64(2 * params); whole < want {
		t.Errorf("stage 1 holds at most %d bytes of gradients, want all %d", whole, want)
	}
	if part := gradientsAtMost(t, of("zero2")); part >= whole {
		t.Errorf("stage 2 holds %d bytes of gradients, stage 1 %d", part, whole)
	}
}

// gradientsAtMost returns the peak memory of gradients, without the bucket.
func gradientsAtMost(t *testing.T, s *setup.Setup) uint64 {
	t.Helper()
	const bucket = 1_000_000_000
	return most(t, s, func(e stream.Event, tag shadow.Tag) bool {
		return tag.Component == shadow.Gradients && e.Size < bucket
	}, false)
}

// most returns the peak memory of the events that the function counts selects, in the whole run or only during loading.
func most(t *testing.T, s *setup.Setup, counts func(e stream.Event, tag shadow.Tag) bool, loading bool) uint64 {
	t.Helper()
	res, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	size, alive, most := map[uint32]uint64{}, uint64(0), uint64(0)
	for _, e := range res.World.Trace.Events {
		switch {
		case e.Kind == stream.Mark && e.ID != Load && loading:
			return most
		case e.Kind == stream.Alloc && counts(e, res.World.Tag(e.ID)):
			size[e.ID] = e.Size
			alive += e.Size
			most = max(most, alive)
		case e.Kind == stream.Free:
			alive -= size[e.ID]
			delete(size, e.ID)
		}
	}
	return most
}

func smallLlamaCount(t *testing.T) (all, trained int) {
	t.Helper()
	res, err := Run(smallLlama(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Params, res.Trainable
}

func TestDistErrors(t *testing.T) {
	for _, x := range []struct {
		dist *setup.Dist
		want string
	}{
		{&setup.Dist{Kind: "ddp"}, "dist.world is 0"},
		{setup.Over("tensor", 2), `dist.kind "tensor" is not known`},
		{&setup.Dist{Kind: "fsdp2", Mesh: setup.Mesh{setup.Data: 2, setup.Shard: 4}}, "2 GPUs along data and 4 along shard cannot be combined"},
		{&setup.Dist{Kind: "ddp", Mesh: setup.Mesh{setup.Data: 2, setup.Tensor: 4}}, "4 GPUs along tensor and 2 along data cannot be combined"},
	} {
		s := smallLlama()
		s.Dist = x.dist
		if _, err := Run(s, Options{}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %s", x.dist, err, x.want)
		}
	}
}
