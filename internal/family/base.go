// SPDX-License-Identifier: Apache-2.0

package family

// IsBase reports whether transformers' classes give the model without its head this name: their base_model_prefix.
func IsBase(name string) bool {
	switch name {
	case "bert", "roberta", "distilbert", "mpnet", "electra", "albert", "deberta", "model", "transformer", "gpt_neox", "vit", "backbone",
		"dinov2", "swin", "segformer":
		return true
	}
	return false
}
