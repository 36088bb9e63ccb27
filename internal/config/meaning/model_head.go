// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/config/projects"
)

// scriptModel is what the main script says of its model.
func (p *Run) scriptModel() projects.LoadedModel {
	if p.Primary == nil {
		return projects.LoadedModel{}
	}
	return p.Primary.Model()
}

// otherHead is that a model is counted with another head than it has.
func (p *Run) otherHead(run map[string]any) []string {
	l := p.scriptModel()
	model, _ := run["model"].(map[string]any)
	if l.Head == "" || model["head"] != l.Head {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: counted as a sentence encoder, whose head is small like its own; --head gives another", l.Where, l.Class)}
}
