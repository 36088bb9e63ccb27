// SPDX-License-Identifier: Apache-2.0

package script

// another notes that a model has a different name from the first one. It is simulated as the setup's.
func (in *interpreter) another(method string, a arguments) {
	name, ok := a.or(0, "pretrained_model_name_or_path", nil).(string)
	if method != "from_pretrained" || !ok {
		return
	}
	if in.model == "" {
		in.model = name
	}
	if name != in.model {
		in.note("the model %s is counted as large as the setup's own", name)
	}
}
