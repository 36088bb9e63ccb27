// SPDX-License-Identifier: Apache-2.0

package shadow

// torch.sort (native/cuda/Sort.cpp and SortStable.cu). Rows of up to 4,096 elements are copied to the results and sorted
// there. Longer ones go through CUB: a few rows one by one or together, many in segments.

const (
	sortedInPlace = 4096      // longest row that is sorted in place
	sortedAlone   = 1_000_000 // shortest row that is sorted by itself
	fewRows       = 128       // rows that are sorted by segments
)

// Sort is torch.sort of a tensor of one dimension: values and their former indices.
func (t *Tensor) Sort() (values, indices *Tensor) { return t.SortAlong(0) }

// SortAlong is torch.sort(t, dim): values and their former indices. The order of the sort does not matter.
func (t *Tensor) SortAlong(dim int) (values, indices *Tensor) {
	w := t.w
	n := w.record("SortBackward0", t)
	w.Op("sort")
	dim = t.size.at(dim)
	values = t.EmptyLike(t.dtype)
	indices = t.EmptyLike(Int64)
	if t.size.n > 0 && t.size.d[dim] > sortedInPlace {
		w.sortLong(t, dim)
	} else {
		w.Scratch(uint64(t.rowLength(dim)) * 8) // arange
	}
	w.Launch(t, values, indices)
	n.save(indices)
	from := t.size
	n.backward(func(g *Tensor) []*Tensor { // zeros.scatter_(dim, indices, grad)
		zeros := w.Empty(from, g.dtype)
		w.Launch(zeros, g)
		return inputGrads(w.unlessInPlace("scatter", zeros))
	})
	n.output(values, 0)
	dropTemporaries(t)
	return values, indices
}

func (t *Tensor) rowLength(dim int) int {
	if t.size.n == 0 {
		return 1
	}
	return t.size.d[dim]
}

// sortLong allocates what sorting long rows needs besides the results: copies if the rows are not contiguous, then
// CUB's buffers.
func (w *World) sortLong(t *Tensor, dim int) {
	var held []*storage
	hold := func(bytes uint64) { held = append(held, w.alloc(bytes)) }
	all, element, row := t.Numel(), int(t.dtype.Bytes()), t.size.d[dim]
	rows, places := all/row, uint64(all)*8
	if t.stride.d[dim] != 1 || !isDense(t.size, t.stride) {
		hold(t.Bytes())
		hold(t.Bytes())
		hold(places)
	}
	switch {
	case rows == 1 || row >= sortedAlone:
		hold(uint64(row) * 8)
		for range rows {
			w.kernelScratch(w.Rules.SortPairs(row, element))
		}
	case rows < fewRows:
		hold(places)
		hold(places)
		keys := w.alloc(t.Bytes())
		w.kernelScratch(w.Rules.SortPairs(all, element))
		w.release(keys)
		w.kernelScratch(w.Rules.SortRowNumbers(all))
	default:
		hold(places)
		w.kernelScratch(w.Rules.SortSegments(all, element))
	}
	for i := len(held) - 1; i >= 0; i-- {
		w.release(held[i])
	}
}
