// SPDX-License-Identifier: Apache-2.0

package shadow

// Random numbers drawn from tensors: multinomial, and dropout in place.

// Multinomial is torch.multinomial(t, count, replacement): count indices from each row of weights, without a gradient
// (native/Distributions.cpp, native/cuda/MultinomialKernel.cu).
func (t *Tensor) Multinomial(count int, replacement bool) *Tensor {
	w := t.w
	enable := w.NoGrad()
	defer enable()
	mark := w.pin(t)
	out := w.Empty(t.size.With(t.size.n-1, count), Int64)
	if replacement && count > 1 {
		w.Op("multinomial")
		var all []*Tensor // a copy of the weights, their shares and the sums of the shares
		for range 3 {
			all = append(all, t.EmptyLike(t.dtype).Hold())
		}
		w.draws(out, t)
		for _, x := range all {
			x.Drop()
		}
		w.unpin(mark)
		return out
	}
	valid, none := t.checkWeights()
	q := t.Pointwise("exponential_", t.dtype).Hold()
	w.Op("multinomial")
	if count == 1 {
		w.reduceScratch(reductionOf("argmax", t.dtype), q, t.dtype, []int{-1}, Int64)
	} else {
		values := w.Empty(out.size, t.dtype).Hold()
		w.topkScratch(q)
		values.Drop()
	}
	w.draws(out, t)
	q.Drop()
	none.Drop()
	valid.Drop()
	w.unpin(mark)
	return out
}

// checkWeights is multinomial's check of its weights: the largest and the smallest one, and the sum of each row. Both
// results live until multinomial returns.
func (t *Tensor) checkWeights() (valid, none *Tensor) {
	most := t.ExtremeAll("max").Hold()
	finite := most.Compare("lt").Hold()
	least := t.ExtremeAll("min").Hold()
	positive := least.Compare("ge").Hold()
	valid = finite.And(positive).Hold()
	for _, x := range []*Tensor{positive, least, finite, most} {
		x.Drop()
	}
	valid.Item()
	if t.size.n == 1 {
		sum := t.SumAll().Hold()
		none = sum.Compare("eq").Hold()
		sum.Drop()
	} else {
		sums := t.Sum(false, 1).Hold()
		zeros := sums.Compare("eq").Hold()
		none = zeros.Any(false, 0).Hold()
		zeros.Drop()
		sums.Drop()
	}
	some := none.Plain("logical_not", Bool).Hold()
	some.Item()
	some.Drop()
	return valid, none
}

// DropoutInPlace is F.dropout(inplace=True): t is multiplied by random factors of its own type, which its gradient needs.
func (t *Tensor) DropoutInPlace(p float64) *Tensor {
	if p == 0 || t.w.Eval || t.w.Undropped {
		return t
	}
	noise := t.Pointwise("bernoulli_", t.dtype).Hold()
	t.MulInto(noise)
	noise.Drop()
	return t
}
