// SPDX-License-Identifier: Apache-2.0

package shadow

// F.cross_entropy and F.nll_loss, over all logits at once. Liger's is in ops_liger_loss.go, TRL's in
// ops_logprob.go.

// CrossEntropy is F.cross_entropy(logits, target) over class indices.
func (logits *Tensor) CrossEntropy(target *Tensor) *Tensor {
	defer logits.w.As(Logits)()
	w := logits.w
	mark := w.pin(logits, target)
	// Inside cross_entropy_loss the log-softmax keeps its argument's type even
	// under autocast; only the loss itself is cast to float32.
	p := logits.softmax("_log_softmax", "LogSoftmaxBackward0", logits.dtype)
	w.pin(p)
	q := w.toFloat32(p)
	w.pin(q)
	out := q.nll(target, CrossEntropyLoss{})
	w.unpin(mark)
	return out
}

// CrossEntropyLoss holds the options of F.cross_entropy.
type CrossEntropyLoss struct {
	Reduction string  // mean, sum or none
	Smooth    bool    // label_smoothing is not zero
	Weight    *Tensor // class weights, or nil if all are equal
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

// NLL is F.nll_loss. Autocast casts the input to float32. With more than two dimensions, NLL is nll_loss2d over a
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
	w.Launch(out)
	n.save(total)
	dropTemporaries(total)
	from, dt := t.size, t.dtype
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("nll_loss_backward")
		out := w.Empty(from, dt)
		w.Launch(out)
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
	w.Launch(out)
	n.save(total)
	total.Drop()
	from, dt := q.size, q.dtype
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("nll_loss2d_backward")
		out := w.Empty(from, dt)
		w.Launch(out)
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
		count := kept.SumAll().Hold() // C++ evaluates the divisor first
		ret = fn.Let(smooth.SumAll().Div(count))
		count.Drop()
		kept.Drop()
	}
	share := ret.MulScalar().Hold()
	out := nll.MulScalar().Add(share)
	share.Drop()
	return fn.Return(out)
}

// weights returns the weight of each target that is not ignored: 1, or its class weight.
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
