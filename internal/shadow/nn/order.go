// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// scope is a module in the tree that parameters' names span.
type scope struct {
	own   []*shadow.Tensor
	inner []*scope
	at    map[string]*scope
}

// moduleOrder puts parameters in the order in which nn.Module.parameters()
// visits them, given the order in which they were made.
func moduleOrder(made []*shadow.Tensor) []*shadow.Tensor {
	return scopeOf(made).visit(make([]*shadow.Tensor, 0, len(made)))
}

func scopeOf(made []*shadow.Tensor) *scope {
	root := &scope{}
	for _, p := range made {
		m := root
		names := strings.Split(p.Name(), ".")
		for _, name := range names[:len(names)-1] {
			m = m.child(name)
		}
		m.own = append(m.own, p)
	}
	return root
}

func (m *scope) child(name string) *scope {
	c := m.at[name]
	if c == nil {
		c = &scope{}
		if m.at == nil {
			m.at = map[string]*scope{}
		}
		m.at[name] = c
		m.inner = append(m.inner, c)
	}
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

// ParametersInsideOut is all parameters with those of the modules inside a module
// before the module's own: the order in which FSDP shards them.
func (b *Builder) ParametersInsideOut() []*shadow.Tensor {
	return scopeOf(b.all).visitInside(make([]*shadow.Tensor, 0, len(b.all)))
}

// ToCard is model.to("cuda").
func (b *Builder) ToCard() { b.apply((*shadow.Tensor).Fill) }

// ToHost is model.cpu(): gradients go with their parameters.
func (b *Builder) ToHost() {
	b.apply(func(t *shadow.Tensor) {
		t.ToMeta()
		t.TakeGrad().Drop()
	})
}

// Convert is model.to(dtype) with its buffers, on the card or before it comes there.
func (b *Builder) Convert(dt shadow.DType) {
	b.apply(func(t *shadow.Tensor) { t.CastInPlace(dt) })
}

// apply is nn.Module._apply: modules inside out, a module's buffers after its parameters. A buffer follows
// the parameter that was made before it.
func (b *Builder) apply(f func(*shadow.Tensor)) {
	after := b.buffersAfter()
	all := func(ts []*shadow.Tensor) {
		for _, t := range ts {
			f(t)
		}
	}
	all(after[nil])
	for _, p := range b.ParametersInsideOut() {
		f(p)
		all(after[p])
	}
}

// CopyToCard is copy.deepcopy of a model on the card: a module's own tensors before those inside it. A buffer
// is copied by its storage, for which an empty tensor is made first and given it.
func (b *Builder) CopyToCard() {
	after := b.buffersAfter()
	for _, p := range append([]*shadow.Tensor{nil}, b.Parameters()...) {
		if p != nil {
			p.Fill()
		}
		for _, t := range after[p] {
			t.Fill()
			b.W.Scratch(t.DType().Bytes())
		}
	}
}

// buffersAfter is the buffers by the parameter that was made before them.
func (b *Builder) buffersAfter() map[*shadow.Tensor][]*shadow.Tensor {
	after := map[*shadow.Tensor][]*shadow.Tensor{}
	var last *shadow.Tensor
	for _, t := range b.made {
		if slices.Contains(b.all, t) {
			last = t
		} else if !t.Dropped() {
			after[last] = append(after[last], t)
		}
	}
	return after
}

// BlockOf is the path of the block that contains a parameter; empty if none does.
func (b *Builder) BlockOf(name string) string {
	for _, list := range b.Blocks {
		rest, ok := strings.CutPrefix(name, list+".")
		if number, _, inside := strings.Cut(rest, "."); ok && inside {
			return list + "." + number
		}
	}
	return ""
}

// OwnerOf is the path of the module that the parameter of a name belongs to.
func OwnerOf(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, lastName(name)), ".")
}

// Early runs construct now, as PyTorch does, but lists what it makes after what
// follow makes: a module that is constructed first and assigned last.
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
