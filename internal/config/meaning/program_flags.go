// SPDX-License-Identifier: Apache-2.0

package meaning

import "strings"

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
