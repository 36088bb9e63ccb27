// SPDX-License-Identifier: Apache-2.0

package shadow

// Unsloth's fused LoRA layers as fms-acceleration ships them for quantized weights
// (fms_acceleration_foak/fused_ops/unsloth_lora, 0.6): LoRA_QKV and LoRA_W, autograd functions around whole layers with
// their adapters. They keep their input and, for each layer, the input after dropout. The version for GPTQ makes the
// weights of all layers first. The version for bitsandbytes makes them one by one, and for several layers it writes the
// gradient of the input over the input.

// FusedLora is a layer in one of Unsloth's LoRA functions.
type FusedLora struct {
	Dequantize func() *Tensor // makes the weight (In, Out)
	Bias       *Tensor        // may be nil
	A, B       *Tensor        // the adapters (R, In) and (Out, R)
	Drop       float64        // dropout on the adapters' input
	GPTQ       bool           // the version for GPTQ; otherwise for bitsandbytes
}

// FusedLoras applies layers to t and returns their results: LoRA_QKV for three layers, LoRA_W for one.
func (t *Tensor) FusedLoras(layers ...FusedLora) []*Tensor {
	w, inputs := t.w, []*Tensor{t}
	for _, l := range layers {
		inputs = append(inputs, l.A, l.B)
	}
	n := w.record("LoRA_QKVBackward", inputs...)
	enable := w.NoGrad()
	fn := w.Func(t)
	weights, outs, dropped := make([]*Tensor, len(layers)), make([]*Tensor, len(layers)), make([]*saved, len(layers))
	for i, l := range layers {
		if l.GPTQ {
			weights[i] = fn.Let(l.Dequantize())
		}
	}
	var kept []*Tensor
	for i, l := range layers {
		out, x := l.matmul(t, weights[i])
		outs[i], kept = fn.Let(out), append(kept, fn.Let(x))
	}
	input := n.save(t)
	for i, x := range kept {
		dropped[i] = n.save(x)
	}
	fn.Returns(outs...)
	enable()
	n.backwards(func(g []*Tensor) []*Tensor { return fusedBackward(layers, input, dropped, g) })
	for i, out := range outs {
		n.output(out, int32(i))
	}
	dropTemporaries(t)
	return outs
}

// matmul is matmul_lora: t times the weight, plus the adapters' output. It also returns the adapters' input. A weight
// that does not exist yet is deleted after the product.
func (l FusedLora) matmul(t, weight *Tensor) (out, dropped *Tensor) {
	w, dtype := t.w, t.dtype
	fn := w.Func(t)
	x := fn.Let(t.Reshape(-1, t.Size(-1)))
	var product *Tensor
	if weight == nil {
		product = fn.Let(x.Matmul(l.Dequantize()))
	} else {
		product = fn.Let(x.Matmul(weight))
	}
	fn.Set(&x, x.Dropout(l.Drop))
	low := fn.Let(x.Matmul(l.A.To(dtype).T()))
	back := fn.Let(l.B.To(dtype).MulScalar().T())
	product.AddInPlace(low.Matmul(back))
	if l.Bias != nil {
		product.AddInPlace(l.Bias)
	}
	return fn.Return2(product.ViewAs(t.size.With(-1, l.B.Size(0))), x)
}

// fusedBackward is the backward of LoRA_QKV and LoRA_W: the gradients of all adapters, then those of the input, one
// layer after the other.
func fusedBackward(layers []FusedLora, input *saved, dropped []*saved, g []*Tensor) []*Tensor {
	w, dtype := g[0].w, g[0].dtype
	fn := w.Func()
	grads, flat := []*Tensor{nil}, make([]*Tensor, len(layers))
	for i, l := range layers {
		flat[i] = fn.Let(g[i].Reshape(-1, g[i].Size(-1)))
		x := dropped[i].get()
		a := fn.Let(x.T().Matmul(flat[i].Matmul(l.B.To(dtype))))
		b := fn.Let(l.A.To(dtype).Matmul(x.T()).Matmul(flat[i]))
		grads = append(grads, fn.Let(a.T()), fn.Let(b.T()))
	}
	var sum *Tensor
	for i, l := range layers {
		switch {
		case i > 0:
			sum.AddInPlace(flat[i].Matmul(l.Dequantize().T()))
		case len(layers) > 1 && !l.GPTQ:
			sum = fn.Let(input.get().Reshape(-1, l.A.Size(1)))
			w.productInto(sum, flat[i], l.Dequantize().T())
		default:
			sum = fn.Let(flat[i].Matmul(l.Dequantize().T()))
		}
		l.addMasked(sum, flat[i], dropped[i].get())
	}
	grads[0] = fn.Let(sum.ViewAs(input.get().size))
	return fn.Returns(grads...)
}

// addMasked is sum += (x != 0) * (g @ B @ (s * A)), for the adapters' input x.
func (l FusedLora) addMasked(sum, g, x *Tensor) {
	fn := g.w.Func()
	mask := fn.Let(x.Compare("ne"))
	low := fn.Let(g.Matmul(l.B.To(g.dtype)))
	scaled := fn.Let(l.A.To(g.dtype).MulScalar())
	product := fn.Let(low.Matmul(scaled))
	fn.Del(&low)
	fn.Del(&scaled)
	masked := fn.Let(mask.Mul(product))
	fn.Del(&mask)
	fn.Del(&product)
	sum.AddInPlace(masked)
	fn.Return(nil)
}
