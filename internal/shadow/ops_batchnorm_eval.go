// SPDX-License-Identifier: Apache-2.0

package shadow

// BatchNormEval is F.batch_norm with the running mean and variance, as in evaluation and with frozen statistics. It keeps
// nothing of the batch but its input. Weight and bias may be nil.
func (t *Tensor) BatchNormEval(weight, bias, runningMean, runningVar *Tensor) *Tensor {
	w := t.w
	n := w.record("BatchNormBackward", t, weight, bias)
	input := n.save(t)
	for _, x := range []*Tensor{runningMean, runningVar, weight} {
		n.saveIf(x != nil, x)
	}
	w.Op("batch_norm")
	out := t.EmptyLike(t.dtype)
	w.launchBatchNorm(BatchNorming, out, t)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("batch_norm_backward")
		x, channels := input.get(), Dims(t.size.d[1])
		sums := weight != nil && (n.needsGrad(1) || n.needsGrad(2))
		if sums && x.channelsLast() {
			mark := w.pin(g.like(x))
			dx, dw, db := w.batchNormGrad(x, weight)
			w.unpin(mark)
			return inputGrads(dx, dw, db)
		}
		var dx, dw, db, invstd *Tensor
		if !sums { // the reciprocal standard deviations are computed again
			invstd = w.Empty(channels, Float32).Hold()
		}
		if n.needsGrad(0) {
			dx = x.EmptyLike(x.dtype)
		}
		if sums {
			dw, db = w.Empty(channels, weight.dtype), w.Empty(channels, weight.dtype)
		}
		invstd.Drop()
		w.launchBatchNorm(BatchNormingBack, dx, g, x)
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t)
}
