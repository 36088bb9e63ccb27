// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// scope is a module in the tree that the parameters' names describe.
type scope struct {
	name    string
	own     []*shadow.Tensor
	buffers []*shadow.Tensor
	inner   []*scope
}

// moduleOrder puts parameters in the order in which nn.Module.parameters()
// visits them, given the order in which they were made.
func moduleOrder(made []*shadow.Tensor) []*shadow.Tensor {
	return scopeOf(made).visit(make([]*shadow.Tensor, 0, len(made)))
}

func scopeOf(made []*shadow.Tensor) *scope {
	root := &scope{}
	for _, p := range made {
		m := root.of(p.Name())
		m.own = append(m.own, p)
	}
	return root
}

// of returns the module that a tensor with this name belongs to.
func (m *scope) of(tensor string) *scope {
	for {
		name, rest, inside := strings.Cut(tensor, ".")
		if !inside {
			return m
		}
		m, tensor = m.child(name), rest
	}
}

// child returns the submodule of m with this name. Tensors mostly arrive module by module, so the newest child is
// compared first.
func (m *scope) child(name string) *scope {
	for _, c := range slices.Backward(m.inner) {
		if c.name == name {
			return c
		}
	}
	c := &scope{name: name}
	m.inner = append(m.inner, c)
	return c
}

func (m *scope) visit(out []*shadow.Tensor) []*shadow.Tensor {
	out = append(out, m.own...)
	for _, c := range m.inner {
		out = c.visit(out)
	}
	return out
}

func (m *scope) visitInside(out []*shadow.Tensor) []*shadow.Tensor {
	for _, c := range m.inner {
		out = c.visitInside(out)
	}
	return append(out, m.own...)
}

// ParametersInsideOut returns all parameters in the order in which FSDP shards them: inner modules first.
func (b *Builder) ParametersInsideOut() []*shadow.Tensor {
	return scopeOf(b.all).visitInside(make([]*shadow.Tensor, 0, len(b.all)))
}

// ToCard is model.to("cuda"). The models beside it are moved after it.
func (b *Builder) ToCard() {
	b.apply((*shadow.Tensor).Fill)
	for _, other := range b.beside {
		other.ToCard()
	}
}

// Beside returns a builder for a frozen model that is used together with this one, but is not part of it.
func (b *Builder) Beside(dt shadow.DType) *Builder {
	other := &Builder{W: b.W, DType: dt}
	b.beside = append(b.beside, other)
	return other
}

// FreezeAll stops the training of all parameters.
func (b *Builder) FreezeAll() {
	for _, p := range b.all {
		p.SetTrained(false)
	}
}

// ToHost is model.cpu(). Gradients move with their parameters.
func (b *Builder) ToHost() {
	b.apply(func(t *shadow.Tensor) {
		t.ToMeta()
		t.TakeGrad().Drop()
	})
}

// Convert is model.to(dtype) including its buffers, before or after the move to the card.
func (b *Builder) Convert(dt shadow.DType) {
	b.apply(func(t *shadow.Tensor) { t.CastInPlace(dt) })
}

// apply is nn.Module._apply: inner modules first, and within a module parameters before buffers.
func (b *Builder) apply(f func(*shadow.Tensor)) {
	var visit func(m *scope)
	visit = func(m *scope) {
		for _, c := range m.inner {
			visit(c)
		}
		for _, t := range append(slices.Clone(m.own), m.buffers...) {
			f(t)
		}
	}
	visit(b.modules())
}

// CopyToCard is copy.deepcopy of a model on the card: a module's own tensors before those of its submodules. To
// copy a buffer, PyTorch copies its storage, then briefly makes a small tensor that receives that storage.
func (b *Builder) CopyToCard() {
	var visit func(m *scope)
	visit = func(m *scope) {
		for _, t := range m.own {
			t.Fill()
		}
		for _, t := range m.buffers {
			t.Fill()
			b.W.Scratch(t.DType().Bytes())
		}
		for _, c := range m.inner {
			visit(c)
		}
	}
	visit(b.modules())
}

// modules returns the module tree with parameters and buffers. An unnamed buffer belongs to the module of the
// preceding parameter.
func (b *Builder) modules() *scope {
	root := &scope{}
	last := root
	for _, t := range b.made {
		switch {
		case slices.Contains(b.all, t):
			last = root.of(t.Name())
			last.own = append(last.own, t)
		case t.Dropped():
		case t.Name() != "":
			m := root.of(t.Name())
			m.buffers = append(m.buffers, t)
		default:
			last.buffers = append(last.buffers, t)
		}
	}
	return root
}

// BlockOf returns the path of the block that contains a parameter, or "".
func (b *Builder) BlockOf(name string) string {
	for _, list := range b.Blocks {
		rest, ok := strings.CutPrefix(name, list+".")
		if number, _, inside := strings.Cut(rest, "."); ok && inside {
			return list + "." + number
		}
	}
	return ""
}

// OwnerOf returns the path of the module that a parameter belongs to.
func OwnerOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, lastName(name)), ".")
}

// Early runs construct first, as PyTorch does, but lists its parameters after those of follow. It is for a module
// that is constructed first and assigned last.
func (b *Builder) Early(construct, follow func()) {
	all, made := len(b.all), len(b.made)
	construct()
	lateAll, lateMade := len(b.all), len(b.made)
	follow()
	b.all = rotated(b.all, all, lateAll)
	b.made = rotated(b.made, made, lateMade)
}

// rotated moves ts[from:to] to the end.
func rotated(ts []*shadow.Tensor, from, to int) []*shadow.Tensor {
	head := append([]*shadow.Tensor(nil), ts[:from]...)
	return append(append(head, ts[to:]...), ts[from:to]...)
}
