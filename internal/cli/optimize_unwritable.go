// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/plan"
)

// unwritable is the settings that no file of the project has a place for: what is
// to be written there must leave them as they are.
func (o *optimizeOptions) unwritable(t *today) []string {
	if !o.apply || t.project == nil {
		return nil
	}
	fields := t.project.Fields()
	on, _ := fields["checkpointing"].(bool)
	other := map[string]any{"checkpointing": !on, "precision": "amp-bf16", "optimizer": "adamw-fused", "attention": "sdpa"}
	var out []string
	for _, name := range []string{"checkpointing", "precision", "optimizer", "attention"} {
		value := other[name]
		if fields[name] == value {
			value = map[string]any{"precision": "fp32", "optimizer": "adamw", "attention": "eager"}[name]
		}
		if _, err := t.project.Change(map[string]any{name: value}); err != nil && !slices.Contains(o.allow, name) {
			out = append(out, name)
		}
	}
	return out
}

// outOfReach is why what would make a run fit was not written.
func outOfReach(t *today, p *plan.Plan, unwritable []string) []string {
	var out []string
	for _, lever := range p.Rescue {
		name, value, _ := strings.Cut(lever, " ")
		if !slices.Contains(unwritable, name) {
			continue
		}
		_, want, err := config.ParseSetting(name + "=" + cmp.Or(value, "true"))
		if err == nil {
			_, err = t.project.Change(map[string]any{name: want})
		}
		if err != nil {
			out = append(out, fmt.Sprintf("%s was left as it is: %s", name, oneLine(err.Error())))
		}
	}
	return out
}
