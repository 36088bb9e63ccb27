// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"io"
	"strings"
	"testing"

	"snug/internal/setup"
)

// TestLoraParametersGPT2 checks the counts that PEFT 0.19 prints (print_trainable_parameters) for rank 8 on
// GPT-2, whose linear layers are transformers' Conv1D.
func TestLoraParametersGPT2(t *testing.T) {
	for _, c := range []struct {
		targets           string
		trainable, params int
	}{
		{"c_attn", 294912, 124734720},
		{"all-linear", 1179648, 125619456},
		{"c_attn,c_proj,c_fc", 1179648, 125619456},
		{"c_proj", 516096, 124955904},
		{"attn.c_proj", 147456, 124587264},
		{"attn.c_proj,mlp.c_proj", 516096, 124955904},
		{"lm_head", 408200, 124848008},
	} {
		t.Run(c.targets, func(t *testing.T) {
			s := gpt2Lora(strings.Split(c.targets, ",")...)
			s.Steps = 0
			r, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Trainable != c.trainable || r.Params != c.params {
				t.Errorf("%d of %d are trained, want %d of %d", r.Trainable, r.Params, c.trainable, c.params)
			}
		})
	}
}

// TestLoraTargetsAreWholeNames checks that a target matches only whole names at the end of a path.
func TestLoraTargetsAreWholeNames(t *testing.T) {
	for _, target := range []string{"proj", "n.c_proj", "attn", "transformer", ".c_attn", "c_attn."} {
		if _, err := Run(gpt2Lora(target), Options{}); err == nil || !strings.Contains(err.Error(), "it has c_attn, c_proj, c_fc, lm_head") {
			t.Errorf("target %q: %v", target, err)
		}
	}
}

func gpt2Lora(targets ...string) *setup.Setup {
	return &setup.Setup{
		Model: setup.Model{Config: map[string]any{"model_type": "gpt2"}, Head: "causal-lm"},
		Batch: 1, Seq: 16, Precision: "fp32", Optimizer: "adamw", Attention: "sdpa", Steps: 1,
		LoRA: &setup.LoRA{Rank: 8, Targets: targets},
	}
}

// TestAdaptersOnce checks that get_peft_model does not add adapters to a model that has the setup's.
func TestAdaptersOnce(t *testing.T) {
	const program = `
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen2Config
cfg = Qwen2Config(vocab_size=1000, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)
with torch.device("cuda"):
    base = AutoModelForCausalLM.from_config(cfg, dtype=torch.bfloat16)
model = get_peft_model(base, LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
opt = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
for i in range(4):
    ids = torch.randint(0, 1000, (2, 32)).cuda()
    model(input_ids=ids, labels=ids).loss.backward()
    opt.step()
    opt.zero_grad()
`
	from := setup.Source{Survey: Survey, Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(program)), nil }}
	var peaks []uint64
	for _, settings := range []map[string]any{{}, {"lora": map[string]any{"peft": true, "rank": 16.0, "targets": []any{"q_proj", "v_proj"}}}} {
		settings["loop"], settings["batch"], settings["seq"] = "train.py", 2.0, 32.0
		s, err := setup.Decode(settings, from)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		peaks = append(peaks, played(t, res).PeakAllocated)
	}
	if peaks[0] != peaks[1] {
		t.Errorf("%d bytes are allocated with the script's adapters, %d with the setup's", peaks[0], peaks[1])
	}
}
