// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"

	"snug/internal/kernel"
)

// Convolutions that were not measured but are similar to measured ones. Their shape is guessed from the sizes of
// their tensors, and accepted only if some workspace is exactly what that shape needs.

// guessed is the counterpart of backwardOf (convolution.go) for guessed convolutions.
func (w *writer) guessed(i, dx int, in *term, after int) []conv {
	if in == nil {
		return nil
	}
	weight := w.base[w.events[i].ID].terms[0].coef
	for _, out := range w.incoming(after) {
		for _, e := range []int64{2, 4} {
			if out == nil || out.mono != in.mono || in.coef%e+out.coef%e+weight%e != 0 {
				continue
			}
			shape, ok := kernel.GuessConv(kernel.ConvSizes{In: int(in.coef / e), Out: int(out.coef / e), Weight: int(weight / e)})
			if !ok {
				continue
			}
			c := conv{in.mono, e, shape, true}
			if !w.explained(c, kernel.DGrad, dx) && !w.explained(c, kernel.WGrad, i) {
				continue
			}
			tookIt := w.take(c, kernel.WGrad, i)
			if w.take(c, kernel.DGrad, dx) || tookIt {
				return []conv{c}
			}
		}
	}
	return nil
}

// explained reports whether the workspace after event i is exactly what c needs.
func (w *writer) explained(c conv, kind kernel.ConvKind, i int) bool {
	if !w.moment(i + 1) {
		return false
	}
	for _, o := range w.f.observations(w.k, w.events[i+1].ID) {
		batch := int(w.f.points[o.recording][w.f.quantity(c.mono)])
		if !c.shape.Explains(kind, int(c.element), kernel.BatchBytes{Batch: batch, Bytes: o.size}) {
			return false
		}
	}
	return true
}

// near returns the workspaces of the measured convolution nearest to c, and caches them.
func (w *writer) near(c conv, kind kernel.ConvKind, quantity int, obs []observation) kernel.ConvWorkspace {
	var seen []kernel.BatchBytes
	for _, o := range obs {
		seen = append(seen, kernel.BatchBytes{Batch: int(w.f.points[o.recording][quantity]), Bytes: o.size})
	}
	key := fmt.Sprint(c, kind, w.found.half, seen)
	row, ok := w.f.near[key]
	if !ok {
		near := c.shape.Near
		if w.f.strange {
			near = c.shape.NearOther
		}
		row = near(kind, int(c.element), w.found.half, seen)
		w.f.near[key] = row
	}
	return row
}
