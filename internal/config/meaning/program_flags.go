// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"

	"snug/internal/setup"
)

// ProgramFlags returns the flags of the user's program or its launcher, by setting, such as --accum for
// accumulation.
func (r *Run) ProgramFlags() map[string]string {
	out := map[string]string{}
	for _, b := range r.Bound {
		flag := b.Path[len(b.Path)-1]
		if b.Source.System.Launcher && b.Setting == "precision" {
			flag = "--mixed_precision" // in a launcher's file, the key has another name
		}
		if strings.HasPrefix(flag, "--") && out[b.Setting] == "" {
			out[b.Setting], _, _ = strings.Cut(flag, "#")
		}
	}
	return out
}

// ProgramVariables returns the sizes that the main script assigns to variables of its own: by variable, the setting and the
// value.
func (r *Run) ProgramVariables() map[string]setup.Variable {
	out := map[string]setup.Variable{}
	for _, b := range r.Bound {
		n, whole := b.Value.(int)
		if whole && r.Primary != nil && b.File == r.Primary.File && len(b.Path) == 1 && (b.Setting == "batch" || b.Setting == "seq" || b.Setting == "accumulation") {
			name, _, _ := strings.Cut(b.Path[0], "#")
			out[name] = setup.Variable{Field: b.Setting, Value: n}
		}
	}
	return out
}
