// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"slices"
)

// Flame is a node of a flame graph: a call, with the memory that it and its callees had allocated and that was still
// alive.
type Flame struct {
	Name  string   `json:"n"`           // function and place
	Bytes int64    `json:"b"`           // including the nodes below
	Kind  string   `json:"k,omitempty"` // of a leaf
	Below []*Flame `json:"c,omitempty"` // largest first
}

// Limits on a flame graph; anything smaller or deeper could not be seen.
const (
	leastFlame  = 1.0 / 2000 // of the whole; smaller nodes are omitted
	mostFlames  = 20_000
	deepestCall = 120
)

// Flames returns the memory by Python stack, at the same moment as Held.
func (r *Recorded) Flames() *Flame {
	event := len(r.device.Trace.Events)
	if r.AtPeak {
		event, _ = r.walked.peak(r.device)
	}
	root := &Flame{Name: "all tensors"}
	below := map[*Flame]map[string]*Flame{}
	for stack, s := range r.walked.aliveAt(r.device, event) {
		if s.bytes <= 0 {
			continue
		}
		root.Bytes += s.bytes
		node := root
		for _, name := range r.walked.callNames(stack) {
			node = child(below, node, name)
			node.Bytes += s.bytes
		}
		leaf := child(below, node, r.walked.kind(stack))
		leaf.Bytes += s.bytes
		leaf.Kind = leaf.Name
	}
	left := mostFlames
	root.prune(int64(leastFlame*float64(root.Bytes)), &left)
	return root
}

// callNames returns the calls of a stack, outermost first.
func (c *collector) callNames(stack uint32) []string {
	if stack == earlier {
		return []string{"before the recording"}
	}
	frames := c.facts(stack).frames
	if len(frames) == 0 {
		return []string{"without Python stack (backward)"}
	}
	out := make([]string, 0, min(len(frames), deepestCall))
	for _, f := range frames[:min(len(frames), deepestCall)] {
		out = append(out, f.Func+" "+f.Where())
	}
	return out
}

func child(below map[*Flame]map[string]*Flame, of *Flame, name string) *Flame {
	if below[of] == nil {
		below[of] = map[string]*Flame{}
	}
	f := below[of][name]
	if f == nil {
		f = &Flame{Name: name}
		below[of][name] = f
		of.Below = append(of.Below, f)
	}
	return f
}

// prune removes nodes that are too small to be seen, and sorts the others.
func (f *Flame) prune(least int64, left *int) {
	f.Below = slices.DeleteFunc(f.Below, func(b *Flame) bool { return b.Bytes < least })
	slices.SortFunc(f.Below, func(a, b *Flame) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name)) })
	if len(f.Below) > *left {
		f.Below = f.Below[:*left]
	}
	*left -= len(f.Below)
	for _, b := range f.Below {
		b.prune(least, left)
	}
}
