// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"cmp"
	"slices"
)

// torch.autograd.grad: a backward that runs only the nodes between a root and some tensors, and returns those
// tensors' gradients instead of adding them to leaves (GraphTask::init_to_execute in
// torch/csrc/autograd/engine.cpp, 2.11).

// capturing describes what a call of grad needs.
type capturing struct {
	at   map[*node][]*capture
	runs map[*node]bool // nodes between the root and a capture
}

// capture is one requested gradient.
type capture struct {
	nr  int32
	got *Tensor
}

// GradOf is torch.autograd.grad(t, inputs, g, retain_graph). A nil g means ones. GradOf returns one gradient for each
// input, with a reference for the caller, or nil for an input that t does not depend on.
func (t *Tensor) GradOf(inputs []*Tensor, g *Tensor, keeps bool) []*Tensor {
	w := t.w
	wanted := make([]*capture, len(inputs))
	only := &capturing{at: map[*node][]*capture{}, runs: map[*node]bool{}}
	for i, x := range inputs {
		wanted[i] = &capture{nr: x.nr}
		if to := x.fn; x.requiresGrad {
			if x.leaf {
				to, wanted[i].nr = x.acc, 0
			}
			if to != nil {
				only.at[to] = append(only.at[to], wanted[i])
			}
		}
	}
	only.mark(t.fn)
	outer := w.only
	w.only = only
	t.BackwardWith(g, keeps)
	w.only = outer
	out := make([]*Tensor, len(inputs))
	for i, c := range wanted {
		out[i] = c.got
	}
	return out
}

// mark finds the nodes between the root and a capture. A node is newer than the nodes it leads to, except leaf
// nodes, which lead nowhere.
func (c *capturing) mark(root *node) {
	seen := map[*node]bool{root: true}
	all := []*node{root}
	for i := 0; i < len(all); i++ {
		for _, e := range all[i].next {
			if e.to != nil && !seen[e.to] {
				seen[e.to] = true
				all = append(all, e.to)
			}
		}
	}
	slices.SortFunc(all, func(a, b *node) int { return cmp.Compare(a.seq, b.seq) })
	for _, n := range all {
		for _, e := range n.next {
			if e.to != nil && c.wants(e.to) {
				c.runs[n] = true
			}
		}
	}
}

// wants reports whether a node's gradient is needed.
func (c *capturing) wants(n *node) bool { return c.runs[n] || c.at[n] != nil }

// take hands over the captured gradients that have arrived at a node, and reports whether the node runs.
func (c *capturing) take(n *node, in []*Tensor) bool {
	for _, want := range c.at[n] {
		if int(want.nr) < len(in) && in[want.nr] != nil {
			want.got = in[want.nr].Hold()
		}
	}
	if c.runs[n] {
		return true
	}
	for _, g := range in {
		g.Drop()
	}
	return false
}

// wants reports whether the current backward needs the gradient of input i.
func (n *node) wants(i int) bool {
	if n == nil || n.next[i].to == nil {
		return false
	}
	only := n.w.only
	return only == nil || n.w.gradMode || only.wants(n.next[i].to)
}
