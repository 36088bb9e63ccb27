// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"slices"

	"snug/internal/kernel"
	"snug/internal/stream"
)

// rescaled returns programs in which these allocations are smaller or larger than predicted, or nil if the variant
// has none of them.
func (p *Program) rescaled(v *variant, sizes []uint64, these func(*formula) bool) []*Program {
	there := slices.ContainsFunc(v.events, func(e event) bool {
		return e.kind == stream.Alloc && sizes[e.formula] > 0 && these(&p.formulas[e.formula])
	})
	if !there {
		return nil
	}
	var out []*Program
	for _, share := range []float64{0, 0.5, 1.5, 2} {
		q := *p
		q.formulas = slices.Clone(p.formulas)
		for i := range q.formulas {
			if f := &q.formulas[i]; these(f) {
				*f = f.times(share)
			}
		}
		out = append(out, &q)
	}
	return out
}

// times returns f with all sizes except the recorded ones multiplied by share.
func (f formula) times(share float64) formula {
	f.terms = scaled(f.terms, share, 0)
	if f.most != nil {
		f.most = scaled(f.most, share, 0)
	}
	if f.measured != nil {
		points := make(kernel.ConvWorkspace, len(f.measured.points))
		for i, at := range f.measured.points {
			points[i] = kernel.BatchBytes{Batch: at.Batch, Bytes: uint64(float64(at.Bytes) * share)}
		}
		f.measured = &measuredConv{f.measured.quantity, points}
	}
	return f
}
