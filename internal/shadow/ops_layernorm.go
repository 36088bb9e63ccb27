// SPDX-License-Identifier: Apache-2.0

package shadow

// LayerNorm is F.layer_norm over the last dimension. Mean and reciprocal standard deviation are kept in float32
// for every input type; autocast casts all three arguments to float32.
func (t *Tensor) LayerNorm(weight, bias *Tensor) *Tensor {
	w := t.w
	mark := w.pin(t)
	args := [3]*Tensor{t, weight, bias}
	for i := 2; i >= 0; i-- { // C++ evaluates the arguments from right to left
		args[i] = w.toFloat32(args[i])
		w.pin(args[i])
	}
	out := args[0].layerNorm(args[1], args[2])
	w.unpin(mark)
	return out
}

func (t *Tensor) layerNorm(weight, bias *Tensor) *Tensor {
	w := t.w
	n := w.record("NativeLayerNormBackward0", t, weight, bias)
	input := n.save(t)
	n.saveIf(weight != nil, weight)
	n.saveIf(bias != nil, bias)
	w.Op("native_layer_norm")
	c := t.Contiguous().Hold()
	out := w.Empty(t.size, t.dtype)
	stat := t.size.With(t.size.n-1, 1)
	mean := w.Empty(stat, Float32)
	rstd := w.Empty(stat, Float32)
	w.launchRows(out, t)
	if c != t {
		c.Drop()
	} else {
		c.loosen()
	}
	m, r := n.save(mean), n.save(rstd)
	dropTemporaries(mean, rstd)
	n.backward(func(g *Tensor) []*Tensor {
		_, _ = m, r
		dx, dw, db := w.normGrad("native_layer_norm_backward", g, input.get(), weight, [3]bool{n.needsGrad(0), n.needsGrad(1), n.needsGrad(2)})
		return inputGrads(dx, dw, db)
	})
	return n.result(out, t)
}

// normGrad is the backward of layer norm and of the fused RMS norm
// (aten/src/ATen/native/cuda/layer_norm_kernel.cu, 2.11): it returns the needed gradients of input, weight and
// bias. With very many short rows, the gradients of weight and bias are summed in two passes, through partial
// sums.
func (w *World) normGrad(op string, g, x, weight *Tensor, want [3]bool) (dx, dw, db *Tensor) {
	w.Op(op)
	mark := w.pin(x.Contiguous())
	if want[0] {
		dx = w.Empty(x.size, x.dtype)
	}
	if want[1] {
		dw = w.Empty(weight.size, weight.dtype)
	}
	if want[2] {
		db = w.Empty(weight.size, weight.dtype)
	}
	w.pin(g.Contiguous())
	if rows := w.normPartials(x); rows > 0 {
		partW, partB := w.partialsOf(dw, rows), w.partialsOf(db, rows)
		dw, db = sumPartials(partW, dw), sumPartials(partB, db)
		partB.Drop()
		partW.Drop()
	}
	w.Launch(dx, g, x)
	if dw != nil { // another kernel sums over the rows
		w.launchRows(g, x)
	}
	w.unpin(mark)
	return dx, dw, db
}

// normPartials returns the number of rows of partial sums for x.
func (w *World) normPartials(x *Tensor) int {
	n := x.Size(-1)
	row := max(uint64(n)*x.dtype.Bytes(), 1)
	return int(w.kernelBytes(w.Rules.NormPartials(x.Numel()/n, n).Times(row)) / row)
}

func (w *World) partialsOf(d *Tensor, rows int) *Tensor {
	if d == nil {
		return nil
	}
	return w.Empty(Dims(rows, d.Numel()), d.dtype).Hold()
}

// sumPartials is *d = partials.sum(0): the old memory is freed once the sum exists.
func sumPartials(partials, d *Tensor) *Tensor {
	if d == nil {
		return nil
	}
	sum := partials.reduce("sum", []int{0}, false, d.dtype)
	d.die()
	return sum
}
