// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// passedDeepSpeed is what the config of DeepSpeed's says that an argument at p is, where that
// is a dict with a name of its own.
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
		if at, err := t.Stands(p.Join(strings.Split(within, ".")...)); err == nil {
			out = append(out, candidate{&keys[i], at.At, at.Value, i * 4})
		}
	}
	return out
}

// inDeepSpeed tells whether a value stands in a config of DeepSpeed's within a script:
// its batch and its precision are for DeepSpeed to compare.
func inDeepSpeed(t tree.Tree, p doc.Path) bool {
	for i := 1; i < len(p); i++ {
		if t.Has(p[:i].Join("zero_optimization")) {
			return true
		}
	}
	return false
}
