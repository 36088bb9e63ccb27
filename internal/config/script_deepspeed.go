// SPDX-License-Identifier: Apache-2.0

package config

import (
	"snug/internal/config/doc"
	"strings"
)

// passed is what the config of DeepSpeed's says that an argument at p is, where that
// is a dict with a name of its own.
func passed(a *Adapter, t tree, p doc.Path, v doc.Value) []candidate {
	if a.For == nil || v.Kind != doc.Map || p[len(p)-1]+"." != withinDeepSpeed {
		return nil
	}
	var out []candidate
	keys := a.Keys().all
	for i := range keys {
		within, ok := strings.CutPrefix(keys[i].Path, "**."+withinDeepSpeed)
		if !ok {
			continue
		}
		if at, err := t.stands(p.Join(strings.Split(within, ".")...)); err == nil {
			out = append(out, candidate{&keys[i], at.at, at.value, i * 4})
		}
	}
	return out
}

// inDeepSpeed tells whether a value stands in a config of DeepSpeed's within a script:
// its batch and its precision are for DeepSpeed to compare.
func inDeepSpeed(t tree, p doc.Path) bool {
	for i := 1; i < len(p); i++ {
		if t.has(p[:i].Join("zero_optimization")) {
			return true
		}
	}
	return false
}
