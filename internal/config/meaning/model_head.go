// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/config/projects"
	"snug/internal/setup"
)

// scriptModel returns the model that the main script loads.
func (r *Run) scriptModel() projects.LoadedModel {
	if r.Primary == nil {
		return projects.LoadedModel{}
	}
	l := r.Primary.Model()
	if l.Class != "" || r.Program == nil {
		return l
	}
	l = r.Program.Model()
	if len(r.BindingsOf("model")) > 0 {
		l.Name = ""
	}
	return l
}

// encoder is the head used in place of small heads that are not simulated.
const encoder = "encoder"

// countedHead returns the head that a model is estimated with: its class's head if models of its family have
// it.
func (r *Run) countedHead(name, head string) string {
	if head == "" || head == encoder || setup.Trains(r.ModelName(name), head) {
		return head
	}
	return encoder
}

// otherHead returns the warning that a model is estimated with a head that is not its own.
func (r *Run) otherHead(run map[string]any) []string {
	l := r.scriptModel()
	model, _ := run["model"].(map[string]any)
	if l.Head == "" || model["head"] != encoder {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: counted as a sentence encoder; set --head for another head", l.Where, l.Class)}
}
