// SPDX-License-Identifier: Apache-2.0

package shadow

// Losses of torch.nn.functional, except F.cross_entropy (ops_cross_entropy.go). Reductions have PyTorch's
// names: mean, sum, none.

// reduced is apply_loss_reduction.
func (t *Tensor) reduced(reduction string) *Tensor {
	switch reduction {
	case "none":
		return t
	case "sum":
		return t.SumAll()
	}
	return t.Mean(false, allDims(t.size)...)
}

// Distance is F.l1_loss or huber_loss. Autocast casts both tensors to float32.
func (t *Tensor) Distance(op string, target *Tensor, reduction string) *Tensor {
	w := t.w
	mark := w.pin(t, target)
	y := w.toFloat32(target)
	w.pin(y)
	x := w.toFloat32(t)
	w.pin(x)
	var out *Tensor
	if op == "l1_loss" {
		out = x.Sub(y).AbsGrad().reduced(reduction)
	} else {
		out = x.huber(y).reduced(reduction)
	}
	out.Hold()
	w.unpin(mark)
	return out.loosen()
}

func (t *Tensor) huber(target *Tensor) *Tensor {
	n := t.w.record("HuberLossBackward0", t, target)
	self, other := n.save(t), n.save(target)
	out := t.binary("huber_loss", target, promote(t.dtype, target.dtype))
	n.backward(func(g *Tensor) []*Tensor {
		var grads [2]*Tensor
		for i := range grads {
			if n.needsGrad(i) {
				grads[i] = self.get().binary("huber_loss_backward", other.get(), g.dtype)
			}
		}
		return inputGrads(grads[0], grads[1])
	})
	return n.result(out, t, target)
}

// BCEWithLogits is F.binary_cross_entropy_with_logits; weights may be nil. Autocast casts everything to
// float32.
func (t *Tensor) BCEWithLogits(target, weight, posWeight *Tensor, reduction string) *Tensor {
	w := t.w
	mark := w.pin(t, target)
	args := [4]*Tensor{t, target, weight, posWeight}
	for i := len(args) - 1; i >= 0; i-- {
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	out := args[0].bceWithLogits(args[1], args[2], args[3], reduction).Hold()
	w.unpin(mark)
	return out.loosen()
}

func (t *Tensor) bceWithLogits(target, weight, posWeight *Tensor, reduction string) *Tensor {
	w := t.w
	n := w.record("BinaryCrossEntropyWithLogitsBackward0", t)
	self, other := n.save(t), n.save(target)
	n.saveIf(weight != nil, weight)
	positive := n.saveIf(posWeight != nil, posWeight)
	record := w.NoGrad()
	logs := t.Pointwise("log_sigmoid", t.dtype).Hold()
	var scale *Tensor
	if posWeight != nil {
		less := posWeight.Pointwise("sub", posWeight.dtype).Hold()
		scale = less.binary("mul", target, t.dtype).Hold()
		less.Drop()
	}
	each := target.Pointwise("rsub", t.dtype).Hold()
	out := each.reduced(reduction)
	if out != each {
		out.Hold()
		each.Drop()
	}
	scale.Drop()
	logs.Drop()
	record()
	n.backward(func(g *Tensor) []*Tensor {
		x := self.get()
		if positive == nil {
			return inputGrads(x.Pointwise("sigmoid", x.dtype))
		}
		scaled := positive.get().binary("mul", other.get(), x.dtype).Hold()
		out := scaled.Pointwise("add", x.dtype).Hold()
		x.Pointwise("sigmoid", x.dtype).Hold().Drop()
		scaled.Drop()
		return inputGrads(out.loosen())
	})
	return n.result(out.loosen(), t)
}

// CosineSimilarity is F.cosine_similarity(t, o, dim). Autocast casts both tensors to float32.
func (t *Tensor) CosineSimilarity(o *Tensor, dim int) *Tensor {
	w := t.w
	mark := w.pin(t, o)
	y := w.toFloat32(o)
	w.pin(y)
	x := w.toFloat32(t)
	w.pin(x)
	size := broadcast(x.size, y.size)
	fn := w.Func()
	a, b := fn.Let(x.ExpandAs(size)), fn.Let(y.ExpandAs(size))
	na := fn.Let(a.NormOver(true, dim).Clone())
	nb := fn.Let(b.NormOver(true, dim).Clone())
	w.Scratch(x.dtype.Bytes()) // the minimum to which both lengths are clamped
	right := b.Div(nb).Hold()
	out := a.Div(na).Mul(right).Sum(false, dim)
	right.Drop()
	out = fn.Return(out).Hold()
	w.unpin(mark)
	return out.loosen()
}

// PairwiseDistance is F.pairwise_distance(t, o): the length of their difference.
func (t *Tensor) PairwiseDistance(o *Tensor, keep bool) *Tensor {
	diff := t.Sub(o).Hold()
	out := diff.AddScalar().NormOver(keep, -1).Hold()
	diff.Drop()
	return out.loosen()
}

// TripletMargin is F.triplet_margin_loss with t as the anchor. Autocast casts all three tensors to float32.
func (t *Tensor) TripletMargin(positive, negative *Tensor, swap bool, reduction string) *Tensor {
	w := t.w
	mark := w.pin(t, positive, negative)
	args := [3]*Tensor{t, positive, negative}
	for i := 2; i >= 0; i-- {
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	fn := w.Func()
	near := fn.Let(args[0].PairwiseDistance(args[1], false))
	far := fn.Let(args[0].PairwiseDistance(args[2], false))
	if swap {
		fn.Set(&far, far.Larger("minimum", fn.Let(args[1].PairwiseDistance(args[2], false))))
	}
	sum := near.AddScalar().Hold()
	out := fn.Let(sum.Sub(far).ClampMin())
	sum.Drop()
	out = fn.Return(out.reduced(reduction)).Hold()
	w.unpin(mark)
	return out.loosen()
}

// KLDivOf is F.kl_div(t, target, reduction, log_target). Autocast casts both tensors to float32.
func (t *Tensor) KLDivOf(target *Tensor, reduction string, logTarget bool) *Tensor {
	defer t.w.As(Logits)()
	w := t.w
	mark := w.pin(t, target)
	of := w.toFloat32(target)
	w.pin(of)
	in := w.toFloat32(t)
	w.pin(in)
	var out *Tensor
	if logTarget {
		diff := of.Sub(in).Hold()
		out = of.Exp().Mul(diff)
		diff.Drop()
	} else {
		product := of.Mul(in).Hold()
		out = of.xlogy().Sub(product)
		product.Drop()
	}
	w.pin(out)
	if reduction == "batchmean" {
		out = out.SumAll()
	} else {
		out = out.reduced(reduction)
	}
	out.Hold()
	w.unpin(mark)
	out.loosen()
	if reduction == "batchmean" {
		return out.DivScalar()
	}
	return out
}

// xlogy is torch.xlogy(t, t).
func (t *Tensor) xlogy() *Tensor {
	n := t.w.record("XlogyBackward0", t, t)
	other := n.save(t)
	n.save(t)
	out := t.Pointwise("xlogy", t.dtype)
	n.backward(func(g *Tensor) []*Tensor {
		x := other.get()
		product := g.Mul(x).Hold() // grad * self / other
		g2 := product.Div(x).Hold()
		product.Drop()
		each := g.binary("xlogy", x, g.dtype).Hold() // .masked_fill((self == 0) & (other <= 0), 0)
		low := x.Pointwise("le", Bool).Hold()
		zero := x.Pointwise("eq", Bool).Hold()
		both := zero.binary("bitwise_and", low, Bool).Hold()
		g1 := each.maskedFill(both)
		for _, t := range []*Tensor{both, zero, low, each} {
			t.Drop()
		}
		return inputGrads(g1, g2.loosen())
	})
	return n.result(out, t)
}

// MSELoss is F.mse_loss for tensors of the same shape. The mean or sum is written into the tensor of squared
// differences, so it keeps that tensor's memory.
func (t *Tensor) MSELoss(target *Tensor, reduction string) *Tensor {
	defer t.w.As(Logits)()
	w := t.w
	mark := w.pin(t, target)
	in, of := w.toFloat32(t), w.toFloat32(target)
	w.pin(in, of)
	n := w.record("MseLossBackward0", in, of)
	x, y := n.save(in), n.save(of)
	w.Op("mse_loss")
	out := w.Empty(in.size, in.dtype).Hold()
	if reduction != "none" {
		all := w.Empty(in.size, in.dtype).Hold()
		w.reduceScratch(reductionOf("mean", in.dtype), all, in.dtype, allDims(in.size), in.dtype)
		all.Drop()
		out = Replace(out, out.alias(Dims(), Dims()))
	}
	w.Launch(out, in, of)
	n.backward(func(g *Tensor) []*Tensor {
		grads := make([]*Tensor, 2)
		for i, s := range []*saved{x, y} {
			if n.needsGrad(i) {
				w.Op("mse_loss_backward")
				grads[i] = s.get().EmptyLike(s.get().dtype)
			}
		}
		return grads
	})
	n.output(out, 0)
	w.unpin(mark)
	return out.loosen()
}

// BCELoss is F.binary_cross_entropy without weights: binary_cross_entropy_cuda (aten/src/ATen/native/cuda/Loss.cu), whose
// result keeps the memory of one value per element. Autocast refuses it.
func (t *Tensor) BCELoss(target *Tensor, reduction string) *Tensor {
	defer t.w.As(Logits)()
	w := t.w
	mark := w.pin(t, target)
	n := w.record("BinaryCrossEntropyBackward0", t)
	x := n.save(t)
	n.save(target)
	w.Op("binary_cross_entropy")
	out := w.Empty(t.size, t.dtype).Hold()
	if reduction != "none" {
		all := w.Empty(Dims(), t.dtype).Hold()
		w.reduceScratch(reductionOf("mean", t.dtype), all, t.dtype, allDims(t.size), t.dtype)
		all.Drop()
		out = Replace(out, out.alias(Dims(), Dims()))
	}
	w.Launch(out, t, target)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("binary_cross_entropy_backward")
		return []*Tensor{x.get().EmptyLike(x.get().dtype)}
	})
	n.output(out, 0)
	w.unpin(mark)
	return out.loosen()
}
