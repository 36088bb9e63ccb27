// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
)

// loads is what the main script says of its model.
func (p *Run) loads() loading {
	if p.main == nil {
		return loading{}
	}
	return p.main.loads()
}

// headless is that a model is counted with another head than it has.
func (p *Run) headless(run map[string]any) []string {
	l := p.loads()
	model, _ := run["model"].(map[string]any)
	if l.head == "" || model["head"] != l.head {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s: counted as a sentence encoder, whose head is small like its own; --head gives another", l.where, l.class)}
}
