// SPDX-License-Identifier: Apache-2.0

package setup

// completeLoRA fills in what PEFT decides.
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
	return nil
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
