// SPDX-License-Identifier: Apache-2.0

package train

import "snug/internal/shadow"

// FSDP1's hooks on a unit, and what they allocate (_runtime_utils.py and _flat_param.py, 2.11). Units are in
// fsdp1.go.

// PreForward gathers the unit's parameters, unless a block is recomputed: its backward has begun and the
// parameters are already gathered.
func (u *flatUnit) PreForward(x *shadow.Tensor) *shadow.Tensor {
	if u.state == preBackward {
		return x
	}
	u.unshard()
	u.f.w.Gathered()
	if x == nil || u.trained || u.watched || len(u.members) == 0 {
		return x
	}
	return u.watchInput(x)
}

// watchInput releases the parameters of a frozen unit when the gradient of its input has arrived. The hook
// (register_multi_grad_hook) keeps the node that accumulates a leaf's gradient until the end of backward, and
// with it the leaf and its gradient. The input is a leaf if reentrant checkpointing recomputes the unit.
func (u *flatUnit) watchInput(x *shadow.Tensor) *shadow.Tensor {
	out := x.AfterGrad("post_backward_reshard_only", u.reshard)
	if out == x {
		return x
	}
	u.watched = true
	if x.IsLeaf() && u.f.how.Keeps {
		u.f.kept = append(u.f.kept, x.Hold())
	}
	return out
}

// PostForward releases the parameters, except the root's, which backward needs first.
func (u *flatUnit) PostForward(out *shadow.Tensor) {
	if u.state == preBackward {
		return
	}
	if u.place == 0 && len(u.members) > 0 {
		u.f.order = append(u.f.order, u)
		u.place = len(u.f.order)
	}
	if !u.root {
		u.reshard()
	}
	u.needed = out.RequiresGrad() && u.f.w.GradEnabled()
	out.BeforeBackward(u.preBackward)
}

// preBackward gathers the unit again, and starts gathering the unit whose backward is next, unless that unit has only
// run without gradients so far, as inside reentrant checkpointing.
func (u *flatUnit) preBackward() {
	if u.state == preBackward {
		return
	}
	u.state = preBackward
	u.unshard()
	u.f.w.Gathered()
	u.needed = false
	if u.place > 1 && u.f.order[u.place-2].needed {
		u.f.order[u.place-2].unshard()
	}
}

// unshard gathers the flat parameter. If param_dtype is another type, this process's part is cast to it first.
func (u *flatUnit) unshard() {
	if u.live || len(u.members) == 0 {
		return
	}
	u.live = true
	w, dt := u.f.w, u.flat.DType()
	var low *shadow.Tensor
	if dt != u.shard.DType() {
		w.OnQueue(u.f.cast, shadow.Parameters, func() { low = w.Empty(u.shard.Shape(), dt).Hold() })
	}
	w.OnQueue(u.f.full, shadow.Parameters, func() {
		w.Op("_allgather_base_")
		u.flat.ResizeStorage(u.flat.Numel())
	})
	w.Gather(u.flat.Bytes(), u.f.how.World)
	low.Drop()
}

// reshard releases the gathered parameters.
func (u *flatUnit) reshard() {
	if u.live {
		u.live = false
		u.flat.FreeStorage()
	}
}

// postBackward combines the members' gradients into one flat gradient, releases the parameters, and reduces the
// gradient to this process's part or holds it for a later backward.
func (u *flatUnit) postBackward() {
	f, w := u.f, u.f.w
	u.arrived = 0
	grads := make([]*shadow.Tensor, 0, len(u.members))
	for _, p := range u.members {
		if g := p.TakeGrad(); g != nil {
			grads = append(grads, g)
		}
	}
	flat := grads[0]
	if len(u.members) > 1 {
		w.OnQueue(f.full, shadow.Gradients, func() {
			w.Op("cat")
			flat = w.Empty(shadow.Dims(u.numel), grads[0].DType()).Hold()
		})
		dropList(grads)
	}
	if u.held != nil {
		flat.Drop() // already added to the existing gradient
		flat, u.held = u.held, nil
	}
	u.reshard()
	u.state = postBackward
	if f.holds {
		u.held = flat
		return
	}
	w.OnQueue(f.post, shadow.Gradients, func() { u.reduce(flat) })
}

// reduce is _reduce_grad. It consumes the reference to the flat gradient.
func (u *flatUnit) reduce(flat *shadow.Tensor) {
	w, how := u.f.w, u.f.how
	dt := flat.DType()
	if r := how.Reduce; r != shadow.None {
		dt = r
	}
	defer flat.Drop() // a variable in the hook holds the flat gradient until the end
	var cast *shadow.Tensor
	if dt != flat.DType() {
		cast = w.Empty(shadow.Dims(u.numel), dt).Hold()
	}
	w.Op("_reduce_scatter_base_")
	var padded *shadow.Tensor
	if u.flat.Numel() > u.numel {
		padded = w.Empty(u.flat.Shape(), dt).Hold()
	}
	part := w.Empty(u.shard.Shape(), dt).Hold()
	w.ReduceScatter(uint64(u.numel)*dt.Bytes(), how.World)
	padded.Drop()
	cast.Drop()
	if dt != u.shard.DType() {
		part = shadow.Replace(part, w.Empty(u.shard.Shape(), u.shard.DType()))
	}
	if u.shard.Grad() != nil {
		part.Drop() // already added to the existing gradient
	} else {
		u.shard.SetGrad(part)
	}
	u.layGrads()
}
