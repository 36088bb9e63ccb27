// SPDX-License-Identifier: Apache-2.0

package nn

import "snug/internal/shadow"

// OFT in PEFT 0.21 (tuners/oft): the input of a layer is rotated, in blocks, before the layer sees it. Each block's
// rotation is computed in every forward from the upper triangle of a skew-symmetric matrix (Cayley-Neumann, 5 terms).

// oft is what OFT adds to a layer.
type oft struct {
	weight *shadow.Tensor // (blocks, block (block - 1) / 2)
	block  int
}

func newOFT(b *Builder, lin *Linear, l Lora) tuner {
	block := blockSize(lin.In, l.Block)
	elements := block * (block - 1) / 2
	o := &oft{block: block, weight: b.Parameter(lin.At()+".oft_R.weight", lin.In/block, elements)}
	b.Buffer(shadow.Int64, elements) // rows and columns of the triangle
	b.Buffer(shadow.Int64, elements)
	return o
}

// blockSize is adjust_oft_parameters: the divisor of a layer's width that is nearest to the block size.
func blockSize(width, block int) int {
	if block >= width {
		return width
	}
	higher, lower := block, block
	for width%higher != 0 {
		higher++
	}
	for width%lower != 0 {
		lower--
	}
	if block-lower <= higher-block {
		return lower
	}
	return higher
}

func (o *oft) parameters() []*shadow.Tensor { return []*shadow.Tensor{o.weight} }

// forward is Linear.forward.
func (o *oft) forward(fn *shadow.Frame, x *shadow.Tensor, base func(x *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	previous := x.DType()
	fn.Set(&x, x.To(o.weight.DType()))
	fn.Set(&x, o.rotate(x))
	result := fn.Let(base(x.To(previous)))
	fn.Set(&result, result.To(previous))
	return result
}

// rotate is OFTRotationModule.forward.
func (o *oft) rotate(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	dtype, size := x.DType(), x.Shape()
	rotation := fn.Let(o.cayley())                                               // (blocks, block, block)
	rotated := fn.Let(o.einsum(x.View(-1, rotation.Size(0), o.block), rotation)) // (rows, blocks, block)
	return fn.Return(fn.Let(rotated.Reshape(rotated.Size(0), x.Size(-1)).ViewAs(size)).To(dtype))
}

// einsum is torch.einsum("...rk,rkc->...rc", x, rotation). Autocast casts both arguments first.
func (o *oft) einsum(x, rotation *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn := w.Func(x, rotation)
	if low := w.AutocastType(); low != shadow.None {
		fn.Set(&x, x.To(low))
		fn.Set(&rotation, rotation.To(low))
	}
	return fn.Return(x.Permute(1, 0, 2).Bmm(rotation).Permute(1, 0, 2))
}

// cayley is _cayley_batch.
func (o *oft) cayley() *shadow.Tensor {
	w := o.weight.World()
	fn := w.Func()
	skew := fn.Let(o.skew())
	w.Op("eye")
	r := fn.Let(w.Empty(shadow.Dims(o.block, o.block), skew.DType()).Repeat(skew.Size(0), 1, 1))
	r.AddScaledInto(skew)
	squared := fn.Let(skew.Bmm(skew))
	r.AddScaledInto(squared)
	power := fn.Let(squared)
	fn.Set(&power, power.Bmm(skew))
	r.AddScaledInto(power)
	fn.Set(&power, power.Bmm(skew))
	r.AddInto(power)
	return fn.Return(r)
}

// skew is _pytorch_skew_symmetric.
func (o *oft) skew() *shadow.Tensor {
	fn := o.weight.World().Func()
	matrix := fn.Let(o.weight.UpperTriangle(o.block))
	fn.Set(&matrix, matrix.Sub(matrix.Transpose(-2, -1)))
	return fn.Return(matrix)
}
