// SPDX-License-Identifier: Apache-2.0

package script

import "strings"

// withoutParameters are classes of modules without parameters. They are not in the tree of a model's modules.
var withoutParameters = []string{"Dropout", "GELU", "ReLU", "SiLU", "Tanh", "Sigmoid", "Identity", "Softmax", "Activation"}

// isOf implements isinstance(module, kind); known is false if kind is not a class. The model's own classes are
// recognized by the names of their modules.
func (m *submodule) isOf(in *interpreter, kind value) (yes, known bool) {
	name := ""
	switch k := kind.(type) {
	case namespace:
		name = string(k)
	case *class:
		name = k.name
	default:
		return false, false
	}
	_, class, _ := cutLast(name)
	for _, s := range withoutParameters {
		if strings.HasPrefix(class, s) || strings.HasSuffix(class, s) {
			in.note("no module of class %s is found in the model, so the script's code for these modules is not followed", class)
			return false, true
		}
	}
	if own := m.kind(in); own != "" {
		return own == class, true
	}
	if !strings.HasPrefix(name, "transformers.") {
		return false, true
	}
	return m.isNamed(class), true
}

// isNamed reports whether the module is an instance of a transformers class such as BertLayer.
func (m *submodule) isNamed(class string) bool {
	outer, last, _ := cutLast(m.path)
	switch {
	case strings.HasSuffix(class, "Layer"), strings.HasSuffix(class, "Block"):
		return last != "" && strings.Trim(last, "0123456789") == "" && !strings.ContainsAny(outer, "0123456789")
	case strings.HasSuffix(class, "Norm"):
		return strings.Contains(strings.ToLower(last), "norm") || strings.HasPrefix(last, "ln_")
	case strings.HasSuffix(class, "Attention"):
		return last == "attn" || last == "attention" || last == "self_attn" || last == "self"
	case strings.HasSuffix(class, "MLP"):
		return last == "mlp"
	case strings.HasSuffix(class, "Embeddings"):
		return last == "embeddings"
	case strings.HasSuffix(class, "Pooler"):
		return last == "pooler"
	case strings.HasSuffix(class, "Encoder"):
		return last == "encoder"
	}
	return false
}
