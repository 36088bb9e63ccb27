// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"
	"slices"
	"strings"
)

// maxSeen is how many models that are not known are listed.
const maxSeen = 4

// saw notes a class or function that may make a model, by its dotted name.
func (in *interpreter) saw(path string) {
	_, last, _ := cutLast(path)
	lower := strings.ToLower(path)
	isClass := last != "" && last[0] >= 'A' && last[0] <= 'Z'
	if !isClass && !strings.Contains(lower, "model") || strings.Contains(lower, "token") || strings.Contains(lower, "dataset") || strings.HasPrefix(path, "builtins.") {
		return
	}
	in.lists(path)
}

// lists adds a model that is not known, once.
func (in *interpreter) lists(name string) {
	if strings.HasPrefix(in.scope().file.Path, libraryFolder) || len(in.result.Saw) >= maxSeen {
		return
	}
	if text := fmt.Sprintf("%s (%s)", name, in.place()); !slices.Contains(in.result.Saw, text) {
		in.result.Saw = append(in.result.Saw, text)
	}
}

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
