// SPDX-License-Identifier: Apache-2.0

package shadow

import "math/bits"

// The memory that a reduction kernel needs for a moment
// (aten/src/ATen/native/cuda/Reduce.cuh and TensorIterator.cpp, 2.11).
//
// Each output is first given to one thread, or to one block where there is more
// work. Where that leaves the card half empty, several blocks share an output:
// they put their partial results into a buffer and count themselves in
// semaphores, and both come from the caching allocator. The choice depends on
// the shape as the iterator sees it: reduced dimensions first, each group from
// the smallest stride up, neighbours joined where they lie together.

// reduction is what the kernel's template arguments say.
type reduction struct {
	acc    int // bytes of what is accumulated for one output
	unroll int // elements that a thread loads at once (vt0)
}

// The kinds of reductions: a plain accumulator, a value with its index, and
// Welford's mean and variance.
var (
	reduceIndex   = reduction{acc: 16, unroll: 4}
	reduceWelford = reduction{acc: 16, unroll: 2}
)

// reduceSum is sum, mean and norm: halves accumulate in float32.
func reduceSum(dt DType) reduction {
	return reduction{acc: max(int(dt.Bytes()), 4), unroll: 4}
}

// reduceSame accumulates in the input's own type: amax, any, all.
func reduceSame(dt DType) reduction { return reduction{acc: int(dt.Bytes()), unroll: 4} }

// reduceIter is a TensorIterator for a reduction: strides in elements, those of
// the output zero where a dimension is reduced.
type reduceIter struct {
	n         int
	shape     [maxDims]int
	in, out   [maxDims]int
	inBytes   int
	outBytes  int
	threadMax int
}

// reduceScratch runs the kernel's allocations for t reduced over dims into out.
// The elements it reads are of type from: t's own, or wider ones it was cast to.
func (w *World) reduceScratch(r reduction, t *Tensor, from DType, dims []int, out DType) {
	if t.Numel() == 0 {
		return
	}
	it := newReduceIter(t, dims)
	it.inBytes, it.outBytes, it.threadMax = int(from.Bytes()), int(out.Bytes()), w.Rules.threadsPerSM()
	var acc *storage
	if !it.narrow() && from.Half() && out == from {
		acc = w.alloc(uint64(it.outputs() * r.acc))
	}
	w.reduceSplit(r, it)
	w.release2(acc)
}

// reduceSplit cuts what 32 bits cannot index in halves, along the dimension
// that reaches furthest.
func (w *World) reduceSplit(r reduction, it reduceIter) {
	if it.narrow() {
		w.reduceLaunch(r, it)
		return
	}
	far, dim := -1, 0
	for i := it.n - 1; i >= 0; i-- {
		for _, extent := range [2]int{(it.shape[i] - 1) * it.out[i] * it.outBytes, (it.shape[i] - 1) * it.in[i] * it.inBytes} {
			if it.shape[i] > 0 && extent > far {
				far, dim = extent, i
			}
		}
	}
	first, second := it, it
	first.shape[dim] = it.shape[dim] / 2
	second.shape[dim] = it.shape[dim] - first.shape[dim]
	w.reduceSplit(r, first)
	w.reduceSplit(r, second)
}

func (w *World) reduceLaunch(r reduction, it reduceIter) {
	buffer, semaphores := it.global(r, w.Rules.SMs)
	if buffer == 0 {
		return
	}
	b := w.alloc(uint64(buffer))
	w.scratch(uint64(semaphores))
	w.release2(b)
}

// newReduceIter orders and joins the dimensions.
func newReduceIter(t *Tensor, dims []int) reduceIter {
	var reduced [maxDims]bool
	for _, d := range dims {
		reduced[t.size.at(d)] = true
	}
	out, step := Shape{n: t.size.n}, 1
	for i := t.size.n - 1; i >= 0; i-- {
		if !reduced[i] {
			out.d[i] = step
			step *= max(t.size.d[i], 1)
		}
	}
	perm := reduceOrder(t.size, out, t.stride)
	it := reduceIter{n: t.size.n}
	for i, d := range perm[:t.size.n] {
		it.shape[i], it.in[i], it.out[i] = t.size.d[d], t.stride.d[d], out.d[d]
	}
	it.coalesce()
	return it
}

// reduceOrder is TensorIterator's reorder_dimensions: fastest first, with the
// reduced dimensions in front.
func reduceOrder(size, out, in Shape) (perm [maxDims]int) {
	for i := range size.n {
		perm[i] = size.n - 1 - i
	}
	swap := func(a, b int) int {
		if (out.d[a] == 0) != (out.d[b] == 0) {
			if out.d[b] == 0 {
				return 1
			}
			return -1
		}
		return compareDims(size, []Shape{out, in}, a, b)
	}
	for i := 1; i < size.n; i++ {
		at := i
		for j := i - 1; j >= 0; j-- {
			c := swap(perm[j], perm[at])
			if c > 0 {
				perm[j], perm[at] = perm[at], perm[j]
				at = j
			} else if c < 0 {
				break
			}
		}
	}
	return perm
}

// coalesce joins neighbouring dimensions that lie together in both tensors.
func (it *reduceIter) coalesce() {
	if it.n <= 1 {
		return
	}
	at := 0
	for d := 1; d < it.n; d++ {
		one := it.shape[at] == 1 || it.shape[d] == 1
		if one || it.shape[at]*it.in[at] == it.in[d] && it.shape[at]*it.out[at] == it.out[d] {
			if it.shape[at] == 1 {
				it.in[at], it.out[at] = it.in[d], it.out[d]
			}
			it.shape[at] *= it.shape[d]
			continue
		}
		at++
		it.shape[at], it.in[at], it.out[at] = it.shape[d], it.in[d], it.out[d]
	}
	it.n = at + 1
}

// narrow tells whether 32 bits index everything.
func (it *reduceIter) narrow() bool {
	const limit = 1<<31 - 1
	numel, in, out := 1, 1, 1
	for i := range it.n {
		numel *= it.shape[i]
		in += (it.shape[i] - 1) * it.in[i] * it.inBytes
		out += (it.shape[i] - 1) * it.out[i] * it.outBytes
	}
	return numel <= limit && in <= limit && out <= limit
}

// reducedDims is how many of the leading dimensions are reduced.
func (it *reduceIter) reducedDims() int {
	n := 0
	for i := range it.n {
		if it.out[i] == 0 {
			n++
		}
	}
	return n
}

func (it *reduceIter) outputs() int {
	n := 1
	for i := range it.n {
		if it.out[i] != 0 {
			n *= it.shape[i]
		}
	}
	return n
}

// outputVector is how many neighbouring outputs one thread computes.
func (it *reduceIter) outputVector(first int) int {
	v := 4
	shrink := func(n int) {
		for n%v != 0 {
			v /= 2
		}
	}
	shrink(it.shape[first])
	for i := range it.n {
		if i != first {
			shrink(it.in[i])
		}
	}
	return v
}

// threadsPerSM is how many threads a multiprocessor holds.
func (r Rules) threadsPerSM() int {
	switch r.Capability {
	case 75:
		return 1024
	case 86, 87, 89, 120:
		return 1536
	}
	return 2048
}

// global is setReduceConfig: the bytes of the buffer that blocks share and of
// their semaphores, or zeros where no output is shared.
func (it *reduceIter) global(r reduction, sms int) (buffer, semaphores int) {
	numel := 1
	for _, s := range it.shape[:it.n] {
		numel *= s
	}
	outputs := it.outputs()
	inputs := numel / outputs
	nr := it.reducedDims()
	onFastest, dim0, dim1, stride := true, 1, 1, 1
	if it.n > 0 {
		onFastest = nr == it.n || it.in[0] < it.in[nr]
		if onFastest {
			dim0, dim1, stride = inputs, outputs, it.in[0]
		} else {
			dim0, dim1, stride = outputs, inputs, it.in[nr]
		}
	}
	vector := 1
	if stride == 1 {
		if onFastest && dim0 >= 128 && nr == 1 {
			dim0 /= r.unroll
		} else if !onFastest {
			vector = it.outputVector(nr)
			dim0 /= vector
		}
	}
	width, height := blockShape(dim0, dim1, 512/vector)
	stepIn, stepOut := 1, 1
	if onFastest {
		stepIn = width
	} else {
		stepOut = width
	}
	if ceilDiv(inputs, stepIn) < min(height*16, 256) {
		return 0, 0
	}
	stepIn *= height
	values := ceilDiv(inputs, stepIn)
	target := sms * (it.threadMax / (width * height))
	grid := ceilDiv(outputs/vector, stepOut)
	if values < 256 || grid > target {
		return 0, 0
	}
	ctas := max(min(ceilDiv(target, grid), ceilDiv(values, 16)), ceilDiv(values, 256))
	if ctas <= 1 {
		return 0, 0
	}
	buffer = r.acc * outputs * ctas
	if !onFastest {
		buffer *= width * vector
	}
	return buffer, 4 * grid
}

// blockShape is set_block_dimension: powers of two, at most a warp wide unless
// the block would stay small.
func blockShape(dim0, dim1, most int) (width, height int) {
	a, b := most, most
	if dim0 < most {
		a = lastPow2(dim0)
	}
	if dim1 < most {
		b = lastPow2(dim1)
	}
	width = min(a, 32)
	height = min(b, most/width)
	return min(a, most/height), height
}

func lastPow2(n int) int {
	if n < 1 {
		return 1
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
