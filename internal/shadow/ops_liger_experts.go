// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"math/bits"

	"snug/internal/kernel"
)

// Liger's experts (liger_kernel/ops/fused_moe.py, 0.8.5): tokens are gathered by expert, and each product
// runs over all experts in one kernel that reads its rows through an index. The results of gate and up
// are kept; the input of the second product is recomputed in backward.
//
// When the kernels first run, they try several configurations, for which Triton briefly allocates 256 MiB while
// little else is allocated. That is not simulated.

// ligerTile is the number of one expert's rows that a kernel block processes.
const ligerTile = 64

// LigerExperts is LigerFusedMoEFunction: it passes t (T, H) through gateUp (E, 2I, H) and down (E, H, I) of the
// experts in index (T, K), with weights (T, K).
func (t *Tensor) LigerExperts(gateUp, down, index, weights *Tensor) *Tensor {
	w := t.w
	n := w.record("LigerFusedMoEFunctionBackward", t, gateUp, down, index, weights)
	defer w.NoGrad()()
	fn := w.Func(t, index, weights)
	e := ligerExperts{w: w, tokens: t.Size(0), chosen: index.Size(1), hidden: t.Size(1), inter: gateUp.Size(1) / 2}
	route := e.route(fn, index, gateUp.Size(0))
	TK := e.tokens * e.chosen
	pre := fn.Let(w.Full(t.dtype, TK, 2*e.inter))
	post := fn.Let(w.Full(t.dtype, TK, e.inter))
	e.product(2*e.inter, t, gateUp, pre, post)
	y := fn.Let(w.Full(t.dtype, TK, e.hidden))
	e.product(e.inter, post, down, y)
	out := fn.Let(w.Full(t.dtype, e.tokens, e.hidden))
	w.Launch(out, y)
	for _, s := range []*Tensor{t, gateUp, down, pre, weights} {
		n.save(s)
	}
	for _, s := range route {
		n.save(s)
	}
	n.backward(func(g *Tensor) []*Tensor { return e.grads(g, gateUp, down) })
	return n.result(fn.Return(out), t, index, weights)
}

// ligerExperts holds the sizes of one call.
type ligerExperts struct {
	w                             *World
	tokens, chosen, hidden, inter int
}

// route is compute_routing_metadata: the row and expert of each token, and
// where the tiles of each expert begin. The number of tiles depends on the
// tokens; here all experts get the same number of rows.
func (e ligerExperts) route(fn *Frame, index *Tensor, experts int) []*Tensor {
	w, TK := e.w, e.tokens*e.chosen
	in := w.Func(index)
	block := max(1, 1024>>bits.Len(uint(e.chosen-1)))
	counts := in.Let(w.Full(Int32, experts, kernel.CeilDiv(e.tokens, block)))
	fn.Let(counts.reduce("sum", []int{1}, false, Int32))
	start := fn.Let(w.Full(Int32, experts+1))
	offset := in.Let(w.Full(Int32, experts+1))
	w.Op("item")
	Item(offset)
	tiles := experts * kernel.CeilDiv(kernel.CeilDiv(TK, experts), ligerTile)
	rows, whose := fn.Let2(w.Full(Int32, tiles), w.Full(Int32, tiles))
	scatter := fn.Let(w.Full(Int32, TK))
	reverse := fn.Let(w.Full(Int32, TK))
	gather := fn.Let(w.Full(Int32, TK))
	in.Return(nil)
	return []*Tensor{start, gather, scatter, reverse, rows, whose}
}

// grads runs the backward. It allocates the experts' gradients even if they are frozen.
func (e ligerExperts) grads(g, gateUp, down *Tensor) []*Tensor {
	w, dt, TK := e.w, g.dtype, e.tokens*e.chosen
	fn := w.Func(g)
	dy := fn.Let(g.Contiguous())
	dPre := fn.Let(w.Full(dt, TK, 2*e.inter))
	act := fn.Let(w.Full(dt, TK, e.inter))
	dWeights := fn.Let(w.Full(dt, TK))
	e.product(e.inter, dy, down, dPre, act)
	dDown := fn.Let(down.Pointwise("zeros_like", down.dtype))
	e.product(e.inter, act, dy, dDown)
	wide := fn.Let(w.Full(dt, TK, e.hidden))
	e.product(2*e.inter, dPre, gateUp, wide)
	dx := fn.Let(w.Full(dt, e.tokens, e.hidden))
	w.Launch(dx, wide)
	dGateUp := fn.Let(gateUp.Pointwise("zeros_like", gateUp.dtype))
	e.product(2*e.inter, dPre, dy, dGateUp)
	share := fn.Let(dWeights.View(e.tokens, e.chosen))
	return fn.Returns(dx, dGateUp, dDown, nil, share)
}

// product counts the work of a kernel over all experts; columns is the width of its second factor.
func (e ligerExperts) product(columns int, touched ...*Tensor) {
	e.w.work(Attending, 2*float64(e.tokens*e.chosen)*float64(e.hidden)*float64(columns), touched...)
}
