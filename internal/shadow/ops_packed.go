// SPDX-License-Identifier: Apache-2.0

package shadow

// Packed sequences (native/PackedSequence.cpp): the tokens of all sequences without padding, step by step.

// PackPadded is _pack_padded_sequence of a tensor with the steps first, whose sequences have the given number of tokens
// together. Each run of steps with the same sequences is copied, unless it is contiguous, before all are joined.
func (t *Tensor) PackPadded(tokens int) *Tensor {
	w := t.w
	n := w.record("PackPaddedSequenceBackward0", t)
	w.Op("_pack_padded_sequence")
	size := Dims(tokens, t.size.d[2])
	if t.contiguous() && tokens == t.size.d[0]*t.size.d[1] {
		out := w.Empty(size, t.dtype)
		w.Launch(out, t)
		return t.packedFrom(n, out)
	}
	parts := w.Empty(size, t.dtype).Hold()
	out := w.Empty(size, t.dtype)
	w.Launch(out, t)
	parts.Drop()
	return t.packedFrom(n, out)
}

// packedFrom records the backward of PackPadded, which copies the gradient into zeros.
func (t *Tensor) packedFrom(n *node, out *Tensor) *Tensor {
	w, from := t.w, t.size
	n.backward(func(g *Tensor) []*Tensor {
		w.Op("zeros")
		zeros := w.Empty(from, g.dtype)
		w.Launch(zeros, g)
		return inputGrads(zeros)
	})
	return n.result(out, t)
}

// PadPacked copies packed tokens into t, a padded tensor with the steps first.
func (t *Tensor) PadPacked(packed *Tensor) {
	size := t.size
	if tokens := packed.size.d[0]; tokens < size.d[0]*size.d[1] {
		t.CopySlice(packed.Slice(0, 0, tokens))
		return
	}
	t.CopySlice(packed.SliceOp(0, 0, packed.size.d[0], 1).View(size.d[0], size.d[1], size.d[2]))
}
