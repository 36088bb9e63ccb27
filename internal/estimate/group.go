// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"slices"
	"strings"

	"snug/internal/shadow"
	"snug/internal/simulate"
)

// Group is a set of equal tensors that are alive at the peak: those at the same place in each layer.
type Group struct {
	Path      string           // with * for the layer number: model.layers.*.mlp.gate_proj
	Component shadow.Component // what the tensors are used for
	Form      shadow.Form      // type and shape; zero for memory that is not a tensor
	Count     int              // the number of tensors
	Each      uint64           // bytes of each
}

// Bytes returns the total size of the group.
func (g Group) Bytes() uint64 { return uint64(g.Count) * g.Each }

// Groups lists the tensors alive at the peak, largest group first. It simulates the run again to get their shapes.
func (a *Answer) Groups() ([]Group, error) {
	if a.Run == nil {
		return nil, nil // a recording has sizes but no names
	}
	again, err := simulated(a.Setup, a.Card, simulate.Options{Describes: true, Stop: a.stopped})
	if err != nil {
		return nil, err
	}
	world := a.Run.World
	count := map[Group]int{}
	a.atPeak(func(id uint32, n int, bytes uint64) {
		tag := world.Tag(id)
		form, _ := world.Form(id, again.Run.World)
		count[Group{Path: pattern(tag.Path), Component: tag.Component, Form: form, Each: bytes}] += n
	})
	var out []Group
	for g, n := range count {
		g.Count = n
		out = append(out, g)
	}
	slices.SortFunc(out, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Bytes(), x.Bytes()), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Component, y.Component),
			cmp.Compare(x.Form.String(), y.Form.String()))
	})
	return out, nil
}

// pattern replaces each number in a path with *.
func pattern(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if p != "" && strings.Trim(p, "0123456789") == "" {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}
