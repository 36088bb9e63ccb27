// SPDX-License-Identifier: Apache-2.0

package shadow

// The ops of LitGPT's LoRAQKVLinear (litgpt, lora.py), as recorded on a GPU.

// ConvolvedInGroups is F.conv1d(t.mT, weight.unsqueeze(-1), groups=n).mT for t (B, T, n R) and weight (C, R):
// each part of the last dimension is multiplied by its own rows of the weight. cuDNN gets contiguous copies of
// its inputs, and in backward a workspace for both.
func (t *Tensor) ConvolvedInGroups(weight *Tensor) *Tensor {
	w := t.w
	n := w.record("ConvolutionBackward0", t, weight)
	input := n.save(t)
	kernel := n.save(weight)
	w.Op("convolution")
	copied := w.alloc(t.Bytes())
	out := w.Empty(Dims(t.Size(0), t.Size(1), weight.Size(0)), t.dtype)
	w.release(copied)
	w.product(out, t, weight)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("convolution_backward")
		x, of := input.get(), kernel.get()
		copied := w.alloc(x.Bytes())
		gx := w.Empty(x.size, g.dtype)
		w.convolvedBack(g.Bytes() + x.Bytes())
		w.product(gx, g, of)
		gw := w.Empty(of.size, g.dtype)
		w.convolvedBack(g.Bytes() + x.Bytes())
		w.product(gw, g, x)
		w.release(copied)
		return inputGrads(gx, gw)
	})
	return n.result(out, t, weight)
}

// convolvedBack briefly allocates a contiguous gradient and a workspace.
func (w *World) convolvedBack(bytes uint64) {
	g := w.alloc(bytes)
	w.Scratch(bytes)
	w.release(g)
}

// CopiedIntoZeros copies t into selected columns of a tensor of zeros of the given width. It is index_copy_, or
// if fresh is set index_copy, which makes a new result and a contiguous copy of t. The backward needs the
// columns, and t for its shape.
func (t *Tensor) CopiedIntoZeros(width int, fresh bool) *Tensor {
	w := t.w
	n := w.record("IndexCopyBackward0", t)
	w.Op("index_copy")
	out := w.Empty(t.size.With(-1, width), t.dtype)
	columns := w.Empty(Dims(t.Size(-1)), Int64)
	n.save(columns)
	source := t
	if fresh {
		zeros := out.Hold()
		source = w.Empty(t.size, t.dtype)
		out = w.Empty(zeros.size, t.dtype)
		zeros.Drop()
	}
	shape := n.save(source)
	w.Launch(out, source)
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("index_select")
		var copied *storage
		if fresh {
			copied = w.alloc(g.Bytes())
		}
		back := w.Empty(shape.get().size, g.dtype)
		w.Launch(back, g)
		w.release(copied)
		return inputGrads(back)
	})
	if fresh {
		dropTemporaries(source)
	}
	return n.result(out, t, columns)
}
