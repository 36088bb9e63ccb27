// SPDX-License-Identifier: Apache-2.0

package family

// IsBase reports whether name is the base_model_prefix of a class in transformers, the attribute that holds the
// model without its head.
func IsBase(name string) bool {
	switch name {
	case "bert", "roberta", "distilbert", "mpnet", "electra", "albert", "deberta", "model", "transformer", "gpt_neox", "vit", "deit", "convnext", "backbone",
		"dinov2", "swin", "segformer":
		return true
	}
	return false
}
