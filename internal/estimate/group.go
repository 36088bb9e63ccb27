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

// Tensors names the tensors of an estimate.
type Tensors struct {
	answer    *Answer
	described *shadow.World
	patterns  map[string]string // paths with * for the layer number
}

// Tensors simulates the run again to get the shapes of its tensors.
func (a *Answer) Tensors() (*Tensors, error) {
	out := &Tensors{answer: a, patterns: map[string]string{}}
	if a.Run == nil {
		return out, nil // a recording has sizes but no names
	}
	again, err := simulated(a.Setup, a.Card, simulate.Options{Describes: true, Stop: a.stopped})
	if err != nil {
		return nil, err
	}
	out.described = again.Run.World
	return out, nil
}

// Groups lists the tensors alive at the peak, largest group first.
func (a *Answer) Groups() ([]Group, error) {
	t, err := a.Tensors()
	if err != nil {
		return nil, err
	}
	return t.AtPeak(), nil
}

// AtPeak lists the tensors alive at the peak, largest group first. It is empty for recordings.
func (t *Tensors) AtPeak() (out []Group) {
	if t.described == nil {
		return nil
	}
	count := map[Group]int{}
	t.answer.atPeak(func(id uint32, n int, bytes uint64) { count[t.group(id, bytes)] += n })
	for g, n := range count {
		g.Count = n
		out = append(out, g)
	}
	slices.SortFunc(out, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Bytes(), x.Bytes()), cmp.Compare(x.Path, y.Path), cmp.Compare(x.Component, y.Component),
			cmp.Compare(x.Form.String(), y.Form.String()), cmp.Compare(x.Form.Op, y.Form.Op), cmp.Compare(x.Each, y.Each))
	})
	return out
}

// group returns the group of an allocation, without a count.
func (t *Tensors) group(id uint32, bytes uint64) Group {
	world := t.answer.Run.World
	tag := world.Tag(id)
	form, _ := world.Form(id, t.described)
	path, known := t.patterns[tag.Path]
	if !known {
		path = pattern(tag.Path)
		t.patterns[tag.Path] = path
	}
	return Group{Path: path, Component: tag.Component, Form: form, Each: bytes}
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
