// SPDX-License-Identifier: Apache-2.0

package train

import (
	"slices"

	"snug/internal/shadow"
)

// FSDP2's hooks on a module: before and after its forward, when the gradient of its output arrives, and when the
// gradient of its input does (_fsdp_state.py and _fsdp_param_group.py, 2.11).

// PreForward gathers the group for its block, whose input is x. It returns x cast to the parameters' type, with a
// node in the graph that runs when x's gradient has arrived.
func (g *shardGroup) PreForward(x *shadow.Tensor) *shadow.Tensor {
	if g.backward {
		if !g.unsharded {
			g.unshard()
			g.copyOut()
		}
		return x
	}
	if dt := g.f.how.Param; dt != shadow.None && x != nil && x.DType().Floating() {
		x = x.To(dt)
	}
	g.state = inForward
	g.unshard()
	g.copyOut()
	if x == nil {
		return nil
	}
	return x.AfterGrad("RegisterPostBackwardFunctionBackward", g.postBackward)
}

// PostForward frees the parameters, and registers a hook for the output's gradient.
func (g *shardGroup) PostForward(out *shadow.Tensor) {
	if g.backward {
		return
	}
	if g.f.how.Reshard && !(g.f.how.KeepsRoot && g == g.f.groups[0]) {
		g.reshard()
	}
	g.places = append(g.places, len(g.f.order))
	g.f.order = append(g.f.order, g)
	g.state = idle
	out.BeforeBackward(g.preBackward)
}

// preBackward gathers the group again, and prefetches the group whose backward is next.
func (g *shardGroup) preBackward() {
	g.backward = true
	if g.state == preBackward {
		return
	}
	g.state = preBackward
	g.unshard()
	g.copyOut()
	if len(g.places) == 0 {
		return
	}
	at := g.places[len(g.places)-1]
	g.places = g.places[:len(g.places)-1]
	if at > 0 {
		g.f.order[at-1].unshard()
	}
}

// postBackward frees the parameters and reduces their gradients, or holds them for a later backward.
func (g *shardGroup) postBackward() {
	g.state = postBackward
	g.addToSums()
	if g.f.holds {
		g.reshard()
		g.startSums()
		return
	}
	var with []shardParam
	var grads []*shadow.Tensor
	for i := range g.params {
		if grad := g.params[i].takeGrad(); grad != nil {
			with, grads = append(with, g.params[i]), append(grads, grad)
		}
	}
	g.reshard()
	if len(grads) > 0 {
		g.f.reducing.Drop()
		g.f.reducing = g.f.reduce(with, grads)
	}
}

// takeGrad returns the unsharded gradient, summed over the backwards since the last update.
func (p *shardParam) takeGrad() *shadow.Tensor {
	if sum := p.sum; sum != nil {
		p.sum = nil
		return sum
	}
	return p.full.TakeGrad()
}

// addToSums is accumulate_unsharded_grad_if_needed: it adds gradients to existing sums, in place.
func (g *shardGroup) addToSums() {
	for _, p := range g.params {
		if p.sum != nil {
			p.full.TakeGrad().Drop()
		}
	}
}

// startSums is to_accumulated_grad_if_needed: gradients that are reduced in another type are cast to that type. Other
// gradients are kept, and the next backward adds to them.
func (g *shardGroup) startSums() {
	dt := g.f.how.Reduce
	defer g.f.w.As(shadow.Gradients)()
	for i := range g.params {
		p := &g.params[i]
		if grad := p.full.Grad(); dt != shadow.None && grad != nil && grad.DType() != dt {
			p.sum = g.f.w.Empty(grad.Shape(), dt).Hold()
			p.full.TakeGrad().Drop()
		}
	}
}

// finish is the root's callback at the end of backward. It handles groups whose input has no gradient, such as
// the root's.
func (f *FSDP) finish() {
	for _, g := range f.groups {
		if g.state != postBackward {
			g.postBackward()
		}
		g.state, g.backward, g.places = idle, false, nil
		g.result.Drop()
		g.result = nil
	}
	f.order = slices.Delete(f.order, 0, len(f.order))
	f.reducing.Drop()
	f.reducing = nil
	f.w.Transferred()
}
