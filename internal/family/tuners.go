// SPDX-License-Identifier: Apache-2.0

package family

// TunerLayers returns the layers that PEFT's method changes by default in models of a type (PEFT 0.21, utils/constants.py);
// nil if there are none. IA3's are in ia3.go.
func TunerLayers(tuner, modelType string) []string {
	switch {
	case tuner == "ia3":
		targets, _ := IA3Layers(modelType)
		return targets
	case tuner == "adalora":
		return adaloraDefaults[modelType]
	case tuner == "vera" && modelType == "phi":
		return []string{"q_proj", "v_proj"}
	}
	facts, _ := FactsOf(modelType)
	return facts.LoRA
}

var adaloraDefaults = map[string][]string{
	"t5":          {"q", "k", "v", "o", "wi", "wo"},
	"bart":        {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"},
	"gpt2":        {"c_attn"},
	"bloom":       {"query_key_value"},
	"opt":         {"q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"},
	"gptj":        {"q_proj", "v_proj"},
	"gpt_neox":    {"query_key_value"},
	"gpt_neo":     {"q_proj", "v_proj"},
	"llama":       {"q_proj", "v_proj"},
	"bert":        {"query", "value"},
	"roberta":     {"query", "key", "value", "dense"},
	"deberta-v2":  {"query_proj", "key_proj", "value_proj", "dense"},
	"gpt_bigcode": {"c_attn"},
	"gemma":       {"q_proj", "v_proj"},
	"gemma2":      {"q_proj", "v_proj"},
	"gemma3_text": {"q_proj", "v_proj"},
	"qwen2":       {"q_proj", "v_proj"},
	"qwen3":       {"q_proj", "v_proj"},
}
