// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"cmp"
	"slices"
)

// result returns what was recorded, in script order.
func (r *runner) result(raw []RawWord) *Script {
	out := &Script{Commands: r.commands, Words: raw}
	slices.SortStableFunc(out.Commands, func(a, b Command) int { return cmp.Compare(a.At, b.At) })
	for _, d := range r.definitions {
		out.Definitions = append(out.Definitions, *d)
	}
	slices.SortFunc(out.Definitions, func(a, b Definition) int { return cmp.Compare(a.At, b.At) })
	return out
}
