// SPDX-License-Identifier: Apache-2.0

package shadow

// Losses of torch.nn.functional. Reductions have PyTorch's names: mean, sum, none.

// CrossEntropyLoss says how F.cross_entropy is called.
type CrossEntropyLoss struct {
	Reduction string
	Smooth    bool    // label_smoothing is not zero
	Weight    *Tensor // of the classes, nil if they are equal
}

// CrossEntropyOf is F.cross_entropy over class indices, or over class probabilities if target has a floating
// type. The classes are dimension 1 of logits with more than two dimensions.
func (logits *Tensor) CrossEntropyOf(target *Tensor, how CrossEntropyLoss) *Tensor {
	defer logits.w.As(Logits)()
	w := logits.w
	mark := w.pin(logits, target)
	p := logits.softmax("_log_softmax", "LogSoftmaxBackward0", logits.dtype)
	w.pin(p)
	var out *Tensor
	switch {
	case target.dtype.Floating():
		out = p.probabilityLoss(target, how)
	case how.Smooth:
		out = p.smoothLoss(target, how)
	default:
		out = p.NLL(target, how)
	}
	out.Hold()
	w.unpin(mark)
	return out.loosen()
}

// NLL is F.nll_loss. Autocast casts it to float32; with more than two dimensions it is nll_loss2d over a
// row-major view.
func (t *Tensor) NLL(target *Tensor, how CrossEntropyLoss) *Tensor {
	w := t.w
	mark := w.pin(t, target)
	var out *Tensor
	if t.size.n <= 2 {
		q := w.toFloat32(t)
		w.pin(q)
		out = q.nll(target, how)
	} else {
		out = t.nll2d(target, how)
	}
	out.Hold()
	w.unpin(mark)
	return out.loosen()
}

// nll is nll_loss_forward for logits of one or two dimensions.
func (t *Tensor) nll(target *Tensor, how CrossEntropyLoss) *Tensor {
	w := t.w
	n := w.record("NllLossBackward0", t)
	n.save(t)
	n.save(target)
	n.saveIf(how.Weight != nil, how.Weight)
	w.Op("nll_loss_forward")
	size := Dims()
	if how.Reduction == "none" && t.size.n == 2 {
		size = Dims(t.size.d[0])
	}
	out := w.Empty(size, t.dtype)
	total := w.Empty(Dims(), t.dtype)
	w.Launch(out, t)
	n.save(total)
	dropTemporaries(total)
	from, dt := t.size, t.dtype
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("nll_loss_backward")
		out := w.Empty(from, dt)
		w.Launch(out, out)
		return inputGrads(out)
	})
	return n.result(out, t, target)
}

// nll2d treats logits of three dimensions as nll_loss_nd does: as images of one row.
func (t *Tensor) nll2d(target *Tensor, how CrossEntropyLoss) *Tensor {
	w := t.w
	fn := w.Func(t, target)
	rest := t.Numel() / (t.size.d[0] * t.size.d[1])
	x := fn.Let(t.Contiguous().View(t.size.d[0], t.size.d[1], 1, rest))
	y := fn.Let(target.Contiguous().View(t.size.d[0], 1, rest))
	q := fn.Let(w.toFloat32(x))
	n := w.record("NllLoss2DBackward0", q)
	n.save(q)
	n.save(y)
	n.saveIf(how.Weight != nil, how.Weight)
	w.Op("nll_loss2d_forward")
	total := w.Empty(Dims(), q.dtype).Hold()
	size := Dims()
	if how.Reduction == "none" {
		size = y.size
	}
	out := w.Empty(size, q.dtype)
	w.Launch(out, q)
	n.save(total)
	total.Drop()
	from, dt := q.size, q.dtype
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("nll_loss2d_backward")
		out := w.Empty(from, dt)
		w.Launch(out, out)
		return inputGrads(out)
	})
	n.output(out, 0)
	if how.Reduction == "none" {
		out = out.ViewAs(target.size)
	}
	return fn.Return(out)
}

// smoothLoss is cross_entropy_loss_label_smoothing over log probabilities.
func (t *Tensor) smoothLoss(target *Tensor, how CrossEntropyLoss) *Tensor {
	w := t.w
	fn := w.Func(t, target)
	nll := fn.Let(t.NLL(target, how))
	class := min(1, t.size.n-1)
	of := t
	if how.Weight != nil {
		of = t.Mul(how.Weight.alongClasses(t.size.n))
	}
	smooth := of.Sum(false, class).Neg()
	ignored := fn.Let(target.Pointwise("eq", Bool))
	smooth = fn.Let(smooth.MaskedFillTo(ignored))
	ret := smooth
	switch how.Reduction {
	case "sum":
		ret = fn.Let(smooth.SumAll())
	case "none":
	default:
		kept := ignored.weights(target, how.Weight).Hold()
		count := kept.SumAll().Hold() // C++ evaluates the right side first
		ret = fn.Let(smooth.SumAll().Div(count))
		count.Drop()
		kept.Drop()
	}
	share := ret.MulScalar().Hold()
	out := nll.MulScalar().Add(share)
	share.Drop()
	return fn.Return(out)
}

// weights returns the weights of targets that are not ignored: 1, or those of their classes.
func (ignored *Tensor) weights(target, weight *Tensor) *Tensor {
	if weight == nil {
		return ignored.Pointwise("bitwise_not", Bool)
	}
	index := target.maskedFill(ignored).Hold()
	defer index.Drop()
	return weight.w.Empty(target.size, weight.dtype)
}

// alongClasses returns the class weights, viewed to broadcast with logits of n dimensions.
func (weight *Tensor) alongClasses(n int) *Tensor {
	size := Dims(weight.Numel())
	for size.n < n-1 {
		size = size.Append(1)
	}
	return weight.ViewAs(size)
}

// probabilityLoss is cross_entropy_loss_prob_target over log probabilities.
func (t *Tensor) probabilityLoss(target *Tensor, how CrossEntropyLoss) *Tensor {
	w := t.w
	fn := w.Func(t, target)
	if how.Smooth {
		target = fn.Let(target.MulScalar().AddScalar())
	}
	product := t.Mul(target)
	if how.Weight != nil {
		product = product.Mul(how.Weight.alongClasses(t.size.n))
	}
	switch how.Reduction {
	case "none":
		return fn.Return(product.Sum(false, min(1, t.size.n-1)).Neg())
	case "sum":
		return fn.Return(product.SumAll().Neg())
	}
	return fn.Return(product.SumAll().Neg().DivScalar())
}

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

// Distance is F.l1_loss or huber_loss. Autocast casts both to float32.
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

// CosineSimilarity is F.cosine_similarity(t, o, dim). Autocast casts both to float32.
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
	w.Scratch(x.dtype.Bytes()) // the smallest length, to which both are clamped
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

// TripletMargin is F.triplet_margin_loss with t as the anchor. Autocast casts all to float32.
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

// KLDivOf is F.kl_div(t, target, reduction, log_target). Autocast casts both to float32.
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
