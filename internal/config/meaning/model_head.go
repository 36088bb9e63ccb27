// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/config/projects"
)

// scriptModel returns what the main script says about its model.
func (r *Run) scriptModel() projects.LoadedModel {
	if r.Primary == nil {
		return projects.LoadedModel{}
	}
	return r.Primary.Model()
}

// otherHead returns the warning that a model is counted with another head than it has.
func (r *Run) otherHead(run map[string]any) []string {
	l := r.scriptModel()
	model, _ := run["model"].(map[string]any)
	if l.Head == "" || model["head"] != l.Head {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: counted as a sentence encoder, which also has a small head; set --head for another", l.Where, l.Class)}
}
