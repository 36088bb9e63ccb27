// SPDX-License-Identifier: Apache-2.0

package shadow

import "math/bits"

// Ops on the few integers that describe a batch's images. None has a gradient.

// RepeatedBy is torch.repeat_interleave(t, counts) for one dimension, whose result has total elements
// (native/Repeat.cpp and native/cuda/Repeat.cu).
func (t *Tensor) RepeatedBy(counts *Tensor, total int) *Tensor {
	w := t.w
	mark := w.pin(t, counts)
	w.Op("repeat_interleave")
	rows := counts.inRows()
	sums := w.alloc(uint64(counts.Numel()) * Int64.Bytes())
	again := counts.inRows() // cumsum copies them too
	w.kernelScratch(w.Rules.Scan(counts.Numel(), 8))
	w.release(again)
	Item(counts.plain("ge", Bool).All()) // no count may be negative
	index := w.alloc(uint64(total) * Int64.Bytes())
	w.release(sums)
	w.release(rows)
	w.Op("index_select")
	out := w.Empty(Dims(total), t.dtype)
	w.Launch(out, out)
	w.release(index)
	w.unpin(mark)
	dropTemporaries(t, counts)
	return out
}

// CumsumInt32 is t.cumsum(0, dtype=torch.int32) for one dimension of 64-bit integers, which are first copied to 32 bits.
func (t *Tensor) CumsumInt32() *Tensor {
	w := t.w
	w.Op("cumsum")
	out := w.Empty(t.size, Int32)
	narrow := w.alloc(uint64(t.Numel()) * Int32.Bytes())
	w.kernelScratch(w.Rules.Scan(t.Numel(), 4))
	w.release(narrow)
	w.Launch(out, t)
	dropTemporaries(t)
	return out
}

// Prod is t.prod(-1) for integers.
func (t *Tensor) Prod() *Tensor {
	out := t.reduce("prod", []int{-1}, false, t.dtype)
	dropTemporaries(t)
	return out
}

// RowsByHost is t[index] for rows, with n indices in host memory, which are copied to the GPU for the op. In the backward
// they are sorted, as in indexPut, but their range was checked on the host.
func (t *Tensor) RowsByHost(n int) *Tensor {
	w := t.w
	node := w.record("IndexBackward0", t)
	w.Op("index")
	index := w.alloc(uint64(n) * Int64.Bytes())
	out := w.Empty(t.size.With(0, n), t.dtype)
	w.Launch(out, out)
	w.release(index)
	from := t.size
	node.backward(func(g *Tensor) []*Tensor {
		w.Op("new_zeros")
		zeros := w.Empty(from, g.dtype).Hold()
		w.Launch(zeros, g)
		out := w.unlessInPlace("index_put", zeros).Hold()
		w.sortedPut(n, from.d[0])
		zeros.Drop()
		return inputGrads(out.loosen())
	})
	return node.result(out, t)
}

// sortedPut allocates what index_put_(accumulate=True) needs once negative indices have been converted.
func (w *World) sortedPut(n, rows int) {
	linear := w.alloc(uint64(n) * Int64.Bytes())
	w.sortRows(n, rows)
	w.release(linear)
}

// sortRows allocates what sorting n indices needs.
func (w *World) sortRows(n, rows int) {
	var held [3]*storage // sorted_indices, orig_indices, and the range that is sorted along with the indices
	for i := range held {
		held[i] = w.alloc(uint64(n) * Int64.Bytes())
	}
	w.kernelScratch(w.Rules.Sort(n, bits.Len(uint(max(rows-1, 1)))))
	for i := len(held) - 1; i >= 0; i-- {
		w.release(held[i])
	}
}

// UniqueConsecutive is torch.unique_consecutive of one dimension of 32-bit integers, with count values in the result.
// The result still holds memory for all integers of the input.
func (t *Tensor) UniqueConsecutive(count int) *Tensor {
	w := t.w
	w.Op("unique_consecutive")
	out := w.Empty(t.size, t.dtype)
	number := w.alloc(8)
	w.kernelScratch(w.Rules.Unique(t.Numel(), 4))
	w.release(number)
	dropTemporaries(t)
	out.size = Dims(count)
	out.stride = out.size.contiguous()
	return out
}
