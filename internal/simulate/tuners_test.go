// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
)

// tunedScript is a script that trains a model with one of PEFT's methods.
const tunedScript = `import torch
from peft import (AdaLoraConfig, LoHaConfig, LoKrConfig, OFTConfig, PrefixTuningConfig, PromptEncoderConfig, PromptEncoderReparameterizationType,
    PromptTuningConfig, TaskType, VeraConfig, get_peft_model)
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

model = CLASS.from_pretrained("some/model")
BEFORE
model = get_peft_model(model, CONFIG)
model.to("cuda")
model.train()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
for step in range(3):
    ids = torch.randint(0, 1000, (2, 32), device="cuda")
    outputs = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=LABELS)
    outputs.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
`

var (
	tunedBert  = map[string]any{"model_type": "bert", "num_hidden_layers": 2.0, "hidden_size": 256.0, "num_attention_heads": 4.0, "intermediate_size": 512.0, "vocab_size": 1000.0}
	tunedGPT2  = map[string]any{"model_type": "gpt2", "n_layer": 2.0, "n_embd": 256.0, "n_head": 4.0, "vocab_size": 1000.0}
	tunedLlama = map[string]any{"model_type": "llama", "num_hidden_layers": 2.0, "hidden_size": 256.0, "num_attention_heads": 4.0, "num_key_value_heads": 2.0, "intermediate_size": 512.0, "vocab_size": 1000.0}
)

// runTuned runs the script with a config, which it passes to get_peft_model.
func runTuned(t *testing.T, model map[string]any, before, config string) (*Result, *setup.Setup, error) {
	t.Helper()
	class, labels, head := "AutoModelForCausalLM", "ids", "causal-lm"
	if model["model_type"] == "bert" {
		class, labels, head = "AutoModelForSequenceClassification", "ids[:, 0] % 2", "masked-lm"
	}
	text := strings.NewReplacer("CLASS", class, "BEFORE", before, "CONFIG", config, "LABELS", labels).Replace(tunedScript)
	f, err := pysrc.Parse("train.py", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := &setup.Setup{
		Model: setup.Model{Config: model, Head: head}, Batch: 2, Seq: 32, Precision: "fp32", Optimizer: "adamw", Attention: "sdpa", Steps: 3,
		Loop: "train.py", Script: &setup.Script{File: f},
	}
	res, err := Run(s, Options{})
	return res, s, err
}

// TestTunerScripts compares the parameters of scripts with PEFT's methods with PEFT 0.21.
func TestTunerScripts(t *testing.T) {
	for config, x := range map[string]struct {
		model             map[string]any
		params, trainable int
	}{
		"PrefixTuningConfig(task_type=TaskType.SEQ_CLS, num_virtual_tokens=20)":                      {tunedBert, 1_529_604, 20_994},
		"PromptTuningConfig(task_type='SEQ_CLS', num_virtual_tokens=20)":                             {tunedBert, 1_514_244, 5_634},
		"PromptEncoderConfig(task_type='CAUSAL_LM', num_virtual_tokens=20, encoder_hidden_size=128)": {tunedGPT2, 2_185_728, 87_552},
		"PrefixTuningConfig(task_type='CAUSAL_LM', num_virtual_tokens=20, prefix_projection=True)":   {tunedGPT2, 2_432_256, 334_080},
		"AdaLoraConfig(task_type='CAUSAL_LM', total_step=10)":                                        {tunedGPT2, 2_122_778, 24_600},
		"OFTConfig(task_type='CAUSAL_LM', target_modules=['q_proj', 'v_proj'])":                      {tunedLlama, 1_708_800, 15_872},
		// no layer is a multiple of 24 wide: the blocks are smaller
		"OFTConfig(oft_block_size=24, target_modules=['q_proj', 'down_proj'])":                       {tunedLlama, 1_704_448, 11_520},
		"VeraConfig(task_type='CAUSAL_LM')":                                                          {tunedGPT2, 2_100_224, 2_048},
		"LoHaConfig(task_type='CAUSAL_LM', target_modules=['q_proj', 'v_proj'])":                     {tunedLlama, 1_721_600, 28_672},
		"LoKrConfig(task_type='CAUSAL_LM', target_modules=['q_proj', 'v_proj'], module_dropout=0.0)": {tunedLlama, 1_694_720, 1_792},
	} {
		for _, before := range []string{"", "model.to('cuda')"} { // the method is added in host memory, or on the card
			res, s, err := runTuned(t, x.model, before, config)
			if err != nil {
				t.Errorf("%s: %v", config, err)
				continue
			}
			if before != "" && strings.HasPrefix(config, "AdaLora") {
				x.trainable += 2 // the ranks of both layers
			}
			if res.Params != x.params || res.Trainable != x.trainable {
				t.Errorf("%s: %d parameters, %d trained; want %d and %d", config, res.Params, res.Trainable, x.params, x.trainable)
			}
			if notes := s.Script.Notes(); len(notes) > 0 {
				t.Errorf("%s: noted %v", config, notes)
			}
		}
	}
}

// TestTunerRefusals checks that the parts of a method that are not simulated are refused.
func TestTunerRefusals(t *testing.T) {
	for _, x := range []struct {
		model        map[string]any
		config, want string
	}{
		{tunedGPT2, "PromptEncoderConfig(num_virtual_tokens=20, encoder_reparameterization_type=PromptEncoderReparameterizationType.LSTM)", "encoder_reparameterization_type="},
		{tunedGPT2, "LoHaConfig(target_modules=['c_attn'])", "PEFT's LoHa does not support Conv1D layers"},
		{tunedGPT2, "OFTConfig(target_modules=['c_attn'])", "PEFT's OFT does not support Conv1D layers"},
		{tunedLlama, "OFTConfig(target_modules=['q_proj'], r=8, oft_block_size=0)", "r=8 is not simulated"},
		{tunedLlama, "LoKrConfig(target_modules=['q_proj'], decompose_factor=4)", "decompose_factor=4 is not simulated"},
		{tunedLlama, "PrefixTuningConfig(num_virtual_tokens=4)); model.gradient_checkpointing_enable(", "checkpointing does not work with"},
		{tunedLlama, "LoHaConfig(target_modules=['q_proj'], module_dropout=0.1)", "skips layers at random"},
	} {
		if _, _, err := runTuned(t, x.model, "", x.config); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: got %v, want it to contain %q", x.config, err, x.want)
		}
	}
}
