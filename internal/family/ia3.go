// SPDX-License-Identifier: Apache-2.0

package family

// ia3 lists the layers that PEFT's IA3 scales by default.
type ia3 struct {
	targets     []string
	feedforward string // the target whose input is scaled instead of its output
}

// IA3Layers returns the layers that IA3 scales by default in a model type (PEFT 0.21, utils/constants.py), and those
// whose inputs it scales instead of their outputs; nil if PEFT has no defaults.
func IA3Layers(modelType string) (targets, feedforward []string) {
	of, known := ia3Defaults[modelType]
	if !known {
		return nil, nil
	}
	return of.targets, []string{of.feedforward}
}

var ia3Defaults = map[string]ia3{
	"t5":          {[]string{"k", "v", "wo"}, "wo"},
	"gpt2":        {[]string{"c_attn", "mlp.c_proj"}, "mlp.c_proj"},
	"bloom":       {[]string{"query_key_value", "mlp.dense_4h_to_h"}, "mlp.dense_4h_to_h"},
	"roberta":     {[]string{"key", "value", "output.dense"}, "output.dense"},
	"opt":         {[]string{"q_proj", "k_proj", "fc2"}, "fc2"},
	"gptj":        {[]string{"q_proj", "v_proj", "fc_out"}, "fc_out"},
	"gpt_neox":    {[]string{"query_key_value", "dense_4h_to_h"}, "dense_4h_to_h"},
	"gpt_neo":     {[]string{"q_proj", "v_proj", "c_proj"}, "c_proj"},
	"bart":        {[]string{"q_proj", "v_proj", "fc2"}, "fc2"},
	"gpt_bigcode": {[]string{"c_attn", "mlp.c_proj"}, "mlp.c_proj"},
	"llama":       {[]string{"k_proj", "v_proj", "down_proj"}, "down_proj"},
	"mistral":     {[]string{"k_proj", "v_proj", "down_proj"}, "down_proj"},
	"bert":        {[]string{"key", "value", "output.dense"}, "output.dense"},
	"deberta-v2":  {[]string{"key_proj", "value_proj", "output.dense"}, "output.dense"},
	"falcon":      {[]string{"query_key_value", "dense_4h_to_h"}, "dense_4h_to_h"},
	"phi":         {[]string{"q_proj", "v_proj", "fc2"}, "fc2"},
	"gemma":       {[]string{"q_proj", "v_proj", "down_proj"}, "down_proj"},
	"gemma2":      {[]string{"q_proj", "v_proj", "down_proj"}, "down_proj"},
	"gemma3_text": {[]string{"q_proj", "v_proj", "down_proj"}, "down_proj"},
	"qwen2":       {[]string{"q_proj", "v_proj", "down_proj"}, "down_proj"},
	"qwen3":       {[]string{"q_proj", "v_proj", "down_proj"}, "down_proj"},
}
