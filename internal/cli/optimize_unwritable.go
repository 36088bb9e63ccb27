// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"snug/internal/config"
)

// writer knows what the files of a project can say. A plan counts on nothing else,
// whether it is to be written or only shown: --apply writes what was shown.
type writer struct {
	project *config.Project

	mu      sync.Mutex
	refused map[string]bool // why settings cannot have values that were asked for
}

// writer is that of the run's files; nil where there are none.
func (t *today) writer() *writer {
	if t.project == nil {
		return nil
	}
	return &writer{project: t.project, refused: map[string]bool{}}
}

// writable tells whether the files have a place for a value.
func (w *writer) writable(setting string, value any) bool {
	_, err := w.project.Change(map[string]any{setting: value})
	if err == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused[fmt.Sprintf("%s was left as it is: %s", setting, oneLine(err.Error()))] = true
	return false
}

// refusals is what was left out of a plan, and why, those among the levers that
// would make a run fit included.
func (w *writer) refusals(levers []string) []string {
	if w == nil {
		return nil
	}
	for _, lever := range levers {
		name, value, _ := strings.Cut(lever, " ")
		if _, want, err := config.ParseSetting(name + "=" + cmp.Or(value, "true")); err == nil {
			w.writable(name, want)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.refused))
}
