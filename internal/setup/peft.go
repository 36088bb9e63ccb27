// SPDX-License-Identifier: Apache-2.0

package setup

import "strings"

// Saved as the type of LoRA's frozen weights is the one that the model's files
// have, as from_pretrained(dtype="auto") loads it.
const Saved = "saved"

// completeLoRA fills in what PEFT and the model's files decide.
func (s *Setup) completeLoRA() error {
	l := s.LoRA
	if l == nil {
		return nil
	}
	if len(l.Targets) == 0 {
		if l.Targets = s.Model.PEFTTargets(); l.Targets == nil {
			return Wrong("{lora.targets} is empty, and PEFT knows no usual ones for %s; name the linear layers to adapt, such as q_proj and v_proj, or all-linear", s.Model.Title())
		}
	}
	return s.completeBase()
}

// completeBase decides the type of the frozen weights. Without autocast they have
// that of the precision.
func (s *Setup) completeBase() error {
	l := s.LoRA
	cast, autocast := strings.CutPrefix(s.Precision, "amp-")
	switch {
	case l.Base == "":
		return nil
	case !autocast && l.Base != Saved && l.Base != s.Precision:
		return Wrong("{lora.base} is %s and {precision} %s: weights of another type than the precision's are for autocast; choose amp-bf16 or amp-fp16, or {lora.base} %[2]s",
			l.Base, s.Precision)
	case !autocast:
		l.Base = ""
		return nil
	}
	if l.Base == Saved {
		l.Base, l.Guessed = s.Model.savedIn(cast)
	}
	if l.Base == "fp32" {
		l.Base = ""
	}
	return nil
}

// Frozen is the type of weights under autocast to a precision, with "" for
// float32, where a library loads them as base says.
func (m Model) Frozen(base, precision string) string {
	cast, autocast := strings.CutPrefix(precision, "amp-")
	if base == Saved {
		base, _ = m.savedIn(cast)
	}
	if !autocast || base == "fp32" {
		return ""
	}
	return base
}

// savedIn is the type of the model's weights as its files say. Where they do not
// it is the usual one, that of the arithmetic, and a guess.
func (m Model) savedIn(usual string) (dtype string, guessed bool) {
	for _, key := range []string{"dtype", "torch_dtype"} {
		text, _ := m.Config[key].(string)
		if known := weightTypes[strings.TrimPrefix(text, "torch.")]; known != "" {
			return known, false
		}
	}
	if m.Weights != nil && weightTypes[m.Weights.Main()] != "" {
		return weightTypes[m.Weights.Main()], false
	}
	return usual, true
}

// weightTypes is the types of weights as config.json and safetensors call them.
var weightTypes = map[string]string{
	"float32": "fp32", "bfloat16": "bf16", "float16": "fp16",
	"F32": "fp32", "BF16": "bf16", "F16": "fp16",
}

// PEFTTargets is the layers that PEFT adapts where it is not told which: its
// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING (peft/utils/constants.py, the
// same for these from 0.16 to 0.21). Of a family that is not in there it wants to
// be told.
func (m Model) PEFTTargets() []string {
	switch m.Family() {
	case "llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "opt":
		return []string{"q_proj", "v_proj"}
	case "phi":
		return []string{"q_proj", "v_proj", "fc1", "fc2"}
	case "bert", "roberta", "xlm-roberta":
		return []string{"query", "value"}
	case "t5":
		return []string{"q", "v"}
	case "gpt_neox", "bloom", "falcon":
		return []string{"query_key_value"}
	case "gpt2":
		return []string{"c_attn"}
	}
	return nil
}
