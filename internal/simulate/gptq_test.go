// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/setup"
	"snug/internal/stream"
)

// gptqShapes are the linear layers of one block of gptqLora's model, as inputs and outputs.
var gptqShapes = [][2]uint64{{256, 256}, {256, 128}, {256, 128}, {256, 256}, {256, 512}, {256, 512}, {512, 256}}

// gptqLora returns a setup with LoRA over weights quantized by GPTQ.
func gptqLora(q setup.Quantization) *setup.Setup {
	s := qlora(map[string]any{
		"model_type": "llama", "hidden_size": 256.0, "intermediate_size": 512.0, "num_hidden_layers": 2.0,
		"num_attention_heads": 4.0, "num_key_value_heads": 2.0, "vocab_size": 1000.0, "tie_word_embeddings": false,
	}, "causal-lm")
	q.Method = setup.GPTQ
	s.Quantization, s.Precision, s.Weights = &q, setup.FP16, ""
	return s
}

// TestGPTQBytes computes what quantized layers take, by hand: words of 32 bits for the weight and the zeros, a float16
// scale for each group and output, and the group of each input in an int32. GPTQModel also keeps the shifts that unpack
// a word.
func TestGPTQBytes(t *testing.T) {
	for _, q := range []setup.Quantization{
		{Bits: 4, Group: 128}, {Bits: 4, Group: -1}, {Bits: 2, Group: 32}, {Bits: 3, Group: 128}, {Bits: 8, Group: 64}, {Bits: 4, Group: 128, Kernel: setup.TritonV2},
	} {
		r := &run{s: gptqLora(q)}
		if err := r.load(); err != nil {
			t.Fatal(err)
		}
		got, want := uint64(0), uint64(0)
		for _, e := range r.w.Trace.Events {
			if path := r.w.Tags[e.ID].Path; e.Kind == stream.Alloc && strings.Contains(path, "_proj.") && !strings.Contains(path, ".A.") && !strings.Contains(path, ".B.") {
				got += e.Size
			}
		}
		for _, shape := range gptqShapes {
			in, out, bits := shape[0], shape[1], uint64(q.Bits)
			groups := uint64(1)
			if q.Group > 0 {
				groups = in / uint64(q.Group)
			}
			want += in*out*bits/8 + groups*out*bits/8 + groups*out*2 + in*4
			if q.Kernel == "" {
				want += 32 / bits * 4
			}
		}
		if want *= 2; got != want {
			t.Errorf("%+v: %d bytes, want %d", q, got, want)
		}
	}
}

// TestGPTQKernels checks what a forward pass keeps: with GPTQModel's layers, a product keeps the dequantized weight until
// its backward; AutoGPTQ's function dequantizes it again. Only the first block's queries, keys and values need no
// gradient of their input.
func TestGPTQKernels(t *testing.T) {
	peak := func(kernel string, checkpointing bool) int {
		s := gptqLora(setup.Quantization{Bits: 4, Group: 128, Kernel: kernel})
		s.Checkpointing, s.Versions.Transformers = checkpointing, "5.17"
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		most, alive, size := 0, 0, map[uint32]int{}
		for _, e := range res.World.Trace.Events {
			switch e.Kind {
			case stream.Alloc:
				if e.Size < tuned {
					size[e.ID], alive = int(e.Size), alive+int(e.Size)
				}
			case stream.Free:
				alive -= size[e.ID]
			}
			most = max(most, alive)
		}
		return most
	}
	weights := 0
	for _, shape := range gptqShapes {
		weights += int(2 * 2 * shape[0] * shape[1])
	}
	first := int(2 * (256*256 + 2*256*128))
	if more := peak("", false) - peak(setup.TritonV2, false); more < weights-first-int(4*512*256) || more > weights-first {
		t.Errorf("GPTQModel's layers keep %d bytes more, want about %d", more, weights-first)
	}
	if more := peak("", true) - peak(setup.TritonV2, true); more > weights/2 {
		t.Errorf("with checkpointing they keep %d bytes more, but a block has %d", more, weights/2)
	}
}

// TestAWQ checks weights quantized by AWQ: what a layer takes, computed by hand, and that backward repeats the weight of
// a layer for each sample.
func TestAWQ(t *testing.T) {
	s := gptqLora(setup.Quantization{})
	s.Quantization, s.Batch, s.Seq, s.LoRA.Targets = &setup.Quantization{Bits: 4, Method: setup.AWQ, Group: 64}, 3, 400, []string{"v_proj"}
	r := &run{s: s}
	if err := r.load(); err != nil {
		t.Fatal(err)
	}
	got, want := uint64(0), uint64(0)
	for _, e := range r.w.Trace.Events {
		if path := r.w.Tags[e.ID].Path; e.Kind == stream.Alloc && strings.Contains(path, "_proj.") && !strings.Contains(path, ".A.") && !strings.Contains(path, ".B.") {
			got += e.Size
		}
	}
	for _, shape := range gptqShapes {
		in, out := shape[0], shape[1]
		want += 2 * (in*out/2 + in/64*out/2 + in/64*out*2)
	}
	if got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	repeated := 0
	res, err := Run(s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range res.World.Trace.Events {
		if e.Kind == stream.Alloc && e.Size == 3*512*256*2 {
			repeated++
		}
	}
	if repeated != 2*3 { // the MLP's weights in two blocks
		t.Errorf("%d weights of the MLPs are repeated", repeated)
	}
	s.Checkpointing, s.Steps = true, 3
	if ends := aliveAfterSteps(t, s); ends[2] != ends[0] { // a block's recomputation stops at its last layer
		t.Errorf("%v bytes after the steps with checkpointing", ends)
	}
}

// tuned is the size of the buffer that Triton uses to tune a kernel.
const tuned = 256 << 20

// TestFusedLoRA checks that Unsloth's functions leave nothing behind, and that they keep less than PEFT's layers, which
// keep float32 inputs.
func TestFusedLoRA(t *testing.T) {
	for name, q := range map[string]setup.Quantization{
		"GPTQ":         {Bits: 4, Group: 128, Kernel: setup.TritonV2, Method: setup.GPTQ},
		"bitsandbytes": {Bits: 4, Double: true, Type: setup.NF4, Compute: setup.FP16},
	} {
		s := gptqLora(setup.Quantization{})
		s.Quantization, s.Batch, s.Seq, s.Checkpointing = &q, 2, 64, true
		s.LoRA.Targets, s.LoRA.Dropout, s.Versions.Transformers = []string{"q_proj", "k_proj", "v_proj", "o_proj"}, 0.1, "4.48"
		s.Steps = 3
		ends := aliveAfterSteps(t, s)
		s.Unsloth = []string{"lora"}
		fused := aliveAfterSteps(t, s)
		if fused[2] != fused[1] || fused[2] != ends[2] {
			t.Errorf("%s: %v bytes after the steps, without Unsloth's functions %v", name, fused, ends)
		}
	}
}
