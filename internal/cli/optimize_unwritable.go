// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"snug/internal/config"
	"snug/internal/config/systems"
	"snug/internal/plan"
	"snug/internal/setup"
)

// writer checks which values a project's files can contain. A plan uses only those, even if it is only shown,
// so that --apply writes what was shown.
type writer struct {
	project *config.Project

	mu      sync.Mutex
	refused map[refusal]bool
}

// refusal is why a setting cannot be given a value.
type refusal struct{ setting, value, why string }

// writer returns the writer of the run's files, or nil if there are none.
func (t *today) writer() *writer {
	if t.project == nil {
		return nil
	}
	return &writer{project: t.project, refused: map[refusal]bool{}}
}

// writable reports whether the files have a key for a value.
func (w *writer) writable(setting string, value any) bool {
	_, err := w.project.Change(setup.Assign(setting, value))
	if err == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused[refusal{setting, fmt.Sprint(value), oneLine(err.Error())}] = true
	return false
}

// refusals lists what was omitted from a plan and why, including the levers that would make a run fit. If the
// run fits, checkpointing, further sharding and allocator options are not needed and not listed.
func (w *writer) refusals(p *plan.Plan) []string {
	if w == nil {
		return nil
	}
	for _, lever := range p.Rescue {
		name, value, _ := strings.Cut(lever, " ")
		if !slices.Contains([]string{"checkpointing", "precision", "optimizer", "attention"}, name) {
			continue // a plan never writes this setting
		}
		if _, want, err := systems.ParseSetting(name + "=" + cmp.Or(value, "true")); err == nil {
			w.writable(name, want)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for r := range w.refused {
		if r.setting == "accumulation" {
			continue // the plan's own notes mention this if needed
		}
		spares := r.setting == "checkpointing" && r.value == "true" || strings.HasPrefix(r.setting, "dist.") || r.setting == "allocator"
		if !spares || p.Recommended == nil {
			out = append(out, fmt.Sprintf("%s was not changed: %s", r.setting, r.why))
		}
	}
	slices.Sort(out)
	return out
}
