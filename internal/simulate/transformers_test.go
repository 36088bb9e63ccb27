// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"testing"

	"snug/internal/setup"
)

// TestCausalLossByRelease compares the peak of Mistral-7B with LoRA on an A100 under two releases of
// transformers, at two batch sizes and 4096 tokens (foundation-model-stack/fms-acceleration,
// scripts/benchmarks/refs/a100_80gb.csv, at 9239802 and 24bdadb). Between them the loss moved out of the model's
// forward, and the 16-bit logits are kept next to the float32 ones: 1.0 GB at a batch of 4. The test would notice
// a tenth of that.
func TestCausalLossByRelease(t *testing.T) {
	for _, c := range []struct {
		transformers string
		batch        int
		allocated    float64
	}{
		{"4.45", 4, 25653881344},
		{"4.45", 8, 36643613184},
		{"4.48", 4, 26704571904},
		{"4.48", 8, 38742912512},
	} {
		got := float64(peakOff(t, mistralLora(c.batch, c.transformers), nil, 0))
		if off := math.Abs(got/c.allocated - 1); off > 0.002 {
			t.Errorf("transformers %s, batch %d: %.0f bytes, measured %.0f", c.transformers, c.batch, got, c.allocated)
		}
	}
}

// TestCausalLossPadsLabels checks that transformers 4.49 and later do not copy the logits: two float32 copies without
// the last token disappear, and the 16-bit logits are kept.
func TestCausalLossPadsLabels(t *testing.T) {
	was, is := peakOff(t, mistralLora(4, "4.48"), nil, 0), peakOff(t, mistralLora(4, "4.49"), nil, 0)
	if newest := peakOff(t, mistralLora(4, ""), nil, 0); is != newest {
		t.Errorf("4.49 takes %d bytes, the newest %d", is, newest)
	}
	if was <= is {
		t.Errorf("4.48 takes %d bytes, 4.49 %d", was, is)
	}
}

// TestLoraUnderFSDP1 compares the run of TestCausalLossByRelease under FSDP1 on two GPUs with measurements, and
// Llama-3-8B with Liger's kernels on two and four GPUs (refs/a100_80gb_liger.csv there). Each block's input and its
// gradient are kept until the end of backward.
func TestLoraUnderFSDP1(t *testing.T) {
	for _, c := range []struct {
		name      string
		setup     *setup.Setup
		allocated float64
	}{
		{"mistral, 2 GPUs, batch 2", over(2, mistralLora(2, "4.48")), 15144870400},
		{"mistral, 2 GPUs, batch 4", over(2, mistralLora(4, "4.48")), 21959827968},
		{"mistral, 2 GPUs, batch 4, transformers 4.45", over(2, mistralLora(4, "4.45")), 22161170432},
		{"llama, 2 GPUs, batch 4", over(2, llamaLora(4)), 23383704064},
		{"llama, 2 GPUs, batch 16", over(2, llamaLora(16)), 61448585728},
		{"llama, 4 GPUs, batch 8", over(4, llamaLora(8)), 32003797504},
	} {
		got := float64(peakOff(t, c.setup, nil, 0))
		if off := math.Abs(got/c.allocated - 1); off > 0.012 {
			t.Errorf("%s: %.0f bytes, measured %.0f", c.name, got, c.allocated)
		}
	}
}

// over distributes a run over several GPUs.
func over(gpus int, s *setup.Setup) *setup.Setup {
	d := setup.Over(setup.FSDP1, gpus)
	d.Load = setup.LoadSharded
	if s.Precision == setup.AmpBF16 {
		d.ParamDType, d.ReduceDType = setup.BF16, setup.BF16
	}
	s.Dist = d
	return s
}

// llamaLora returns Llama-3-8B as the benchmark trains it.
func llamaLora(batch int) *setup.Setup {
	s := mistralLora(batch, "4.45")
	s.Model.Config = map[string]any{"model_type": "llama", "intermediate_size": 14336.0, "num_key_value_heads": 8.0, "vocab_size": 128256.0}
	s.Precision, s.Weights = setup.AmpBF16, setup.BF16
	s.Liger, s.Loss = []string{"rope", "norm"}, "liger"
	return s
}

func mistralLora(batch int, transformers string) *setup.Setup {
	none := false
	return &setup.Setup{
		Model: setup.Model{Config: map[string]any{"model_type": "mistral", "sliding_window": nil}, Head: "causal-lm"},
		Batch: batch, Seq: 4096, Precision: "bf16", Optimizer: "adamw", Attention: "flash", AttentionMask: &none,
		Checkpointing: true, Clip: true, Steps: 2, Versions: setup.Versions{Transformers: transformers},
		LoRA: &setup.LoRA{Rank: 16, Targets: []string{"q_proj", "k_proj", "v_proj", "o_proj"}, PEFT: true, Dropout: 0.1},
	}
}

// TestExpertsAreQuantizedModules compares 4-bit Mixtral under transformers 4, whose experts are modules and are
// quantized, with measurements from the benchmark above, at 24bdadb, with double quantization.
func TestExpertsAreQuantizedModules(t *testing.T) {
	for batch, allocated := range map[float64]float64{4: 36731843072, 8: 48770183680} {
		s, err := setup.Decode(map[string]any{
			"model": map[string]any{"config": map[string]any{"model_type": "mixtral"}}, "batch": batch, "seq": 4096.0,
			"lora":         map[string]any{"rank": 16.0, "targets": []any{"q_proj", "k_proj", "v_proj", "o_proj"}, "peft": true, "dropout": 0.1},
			"quantization": map[string]any{"bits": 4.0, "type": "nf4", "double": true, "compute": "bf16"},
			"precision":    "amp-bf16", "weights": "bf16", "checkpointing": true, "attention": "flash", "attention_mask": false,
			"optimizer": "adamw", "clip": true, "versions": map[string]any{"transformers": "4.48", "torch": "2.4", "bitsandbytes": "0.43"},
		}, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		got := float64(peakOff(t, s, nil, 0))
		if off := math.Abs(got/allocated - 1); off > 0.01 {
			t.Errorf("batch %.0f: %.0f bytes, measured %.0f", batch, got, allocated)
		}
	}
}

// TestExpertsInEitherForm checks that the experts have the same number of parameters in both releases.
func TestExpertsInEitherForm(t *testing.T) {
	for _, model := range []string{"mixtral", "qwen3_moe"} {
		params := map[string]int{}
		for _, release := range []string{"4.57", "5.17"} {
			s := mistralLora(1, release)
			s.Model.Config = map[string]any{"model_type": model, "num_hidden_layers": 2.0}
			s.Seq, s.LoRA, s.Checkpointing, s.Steps = 64, nil, false, 1
			r, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			params[release] = r.Params
		}
		if params["4.57"] != params["5.17"] {
			t.Errorf("%s has %d parameters in 4.57 and %d in 5.17", model, params["4.57"], params["5.17"])
		}
	}
}
