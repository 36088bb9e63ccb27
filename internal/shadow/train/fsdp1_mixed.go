// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/shadow"
)

// FSDP1 around blocks with trained adapters among frozen weights, as LitGPT wraps them: with no policy for the
// adapters, and with use_orig_params, without which FSDP refuses a unit of this kind (measured with
// _flat_param.py, 2.11). A flat parameter requires a gradient as a whole if any part of it is trained, so the
// frozen parameters get gradients too, which are reduced with the others. The optimizer updates those parts of
// the trained parameters that are in the shard.

// alignment is the alignment in bytes of a mixed unit's parameters.
const alignment = 16

// mix reports whether the unit is trained. If units may mix trained and frozen parameters and any member is trained, it
// marks all members as trained.
func (u *flatUnit) mix() bool {
	if !u.f.how.Mixes {
		return u.members[0].RequiresGrad()
	}
	for _, p := range u.members {
		if p.RequiresGrad() {
			u.updated = append(u.updated, p)
		}
	}
	for _, p := range u.members {
		p.SetTrained(len(u.updated) > 0)
	}
	return len(u.updated) > 0
}

// room returns the number of elements that a parameter occupies in its flat parameter.
func (u *flatUnit) room(p *shadow.Tensor) int {
	if !u.f.how.Mixes {
		return p.Numel()
	}
	whole := alignment / int(p.DType().Bytes())
	return (p.Numel() + whole - 1) / whole * whole
}

// cutPieces makes the parts of the trained parameters that one process updates. It chooses the process that has the
// most trained elements.
func (f *FSDP1) cutPieces() {
	if !f.how.Mixes {
		return
	}
	most, busiest := 0, 0
	for rank := range f.how.World {
		n := 0
		for _, u := range f.units {
			u.inShard(rank, func(_ *shadow.Tensor, numel int) { n += numel })
		}
		if n > most {
			most, busiest = n, rank
		}
	}
	for _, u := range f.units {
		u.inShard(busiest, func(p *shadow.Tensor, numel int) {
			piece := f.w.Parameter(p.Name(), shadow.Dims(numel), u.shard.DType(), true)
			piece.LayInto(u.shard)
			u.pieces = append(u.pieces, piece)
		})
	}
}

// inShard calls the function do for each trained parameter of the unit that is in a process's shard, with the number
// of its elements there.
func (u *flatUnit) inShard(rank int, do func(p *shadow.Tensor, numel int)) {
	if len(u.updated) == 0 {
		return
	}
	from := rank * u.shard.Numel()
	to, at, next := from+u.shard.Numel(), 0, 0
	for _, p := range u.members {
		if next < len(u.updated) && p == u.updated[next] {
			next++
			if n := min(to, at+p.Numel()) - max(from, at); n > 0 {
				do(p, n)
			}
		}
		at += u.room(p)
	}
}

// layGrads makes the pieces' gradients views of the shard's gradient.
func (u *flatUnit) layGrads() {
	for _, p := range u.pieces {
		p.LayGradInto(u.shard.Grad())
	}
}

// forget releases a unit's gradient if its pieces have none left, or if this process has no pieces of it: zero_grad
// does not reach the frozen parameters (_reset_flat_param_grad_info_if_needed).
func (f *FSDP1) forget() {
	for _, u := range f.units {
		if !f.how.Mixes || u.shard == nil {
			continue
		}
		held := false
		for _, p := range u.pieces {
			held = held || p.Grad() != nil
		}
		if !held {
			u.shard.TakeGrad().Drop()
		}
	}
}
