// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/shadow"
)

// Group sums the tensors of one kind that are alive at the peak, over all layers.
type Group struct {
	Path      string           // with * for the layer number: model.layers.*.mlp.gate_proj
	Component shadow.Component // what the allocations are used for
	Count     int              // the number of allocations
	Bytes     uint64           // their bytes together
}

// Groups lists the tensors alive at the peak, by module and component, largest first.
func (a *Answer) Groups() []Group {
	type key struct {
		path      string
		component shadow.Component
	}
	at := map[key]int{}
	var out []Group
	for _, x := range a.AliveAtPeak() {
		k := key{pattern(x.Path), x.Component}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, Group{Path: k.path, Component: k.component})
		}
		out[i].Count += x.Count
		out[i].Bytes += uint64(x.Count) * x.Bytes
	}
	slices.SortStableFunc(out, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Component, y.Component))
	})
	return out
}

// pattern replaces each number in a path by *.
func pattern(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}
