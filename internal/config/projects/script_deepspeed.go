// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// passedDeepSpeed returns the values of a DeepSpeed config that is passed as the argument at p, if it is a
// dict assigned to a name.
func passedDeepSpeed(a *systems.System, t tree.Tree, p doc.Path, v doc.Value) []candidate {
	if a.For == nil || v.Kind != doc.Map || p[len(p)-1]+"." != systems.DeepSpeedPrefix {
		return nil
	}
	var out []candidate
	keys := a.Keys().All
	for i := range keys {
		within, ok := strings.CutPrefix(keys[i].Path, "**."+systems.DeepSpeedPrefix)
		if !ok {
			continue
		}
		if at, err := t.LastSet(p.Join(strings.Split(within, ".")...)); err == nil {
			out = append(out, candidate{&keys[i], at.At, at.Value, i * 4})
		}
	}
	return out
}

// inDeepSpeed reports whether a value is in a DeepSpeed config within a script. DeepSpeed itself checks that
// batch and precision there agree with the arguments.
func inDeepSpeed(t tree.Tree, p doc.Path) bool {
	for i := 1; i < len(p); i++ {
		if t.Has(p[:i].Join("zero_optimization")) {
			return true
		}
	}
	return false
}
