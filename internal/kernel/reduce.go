// SPDX-License-Identifier: Apache-2.0

package kernel

import "math/bits"

// The workspace of a reduction kernel (aten/src/ATen/native/cuda/Reduce.cuh and TensorIterator.cpp,
// 2.11).
//
// Each output is first assigned to one thread, or to one block if there is more work. If that leaves the card
// half empty, several blocks share an output: they write their partial results to a buffer and count completed
// blocks in semaphores. Both come from the caching allocator. The choice depends on the iterator's shape: reduced
// dimensions first, each group ordered by stride, and adjacent dimensions merged if they are contiguous.

// Reduction holds the template arguments of the kernel.
type Reduction struct {
	Acc    int // bytes of the accumulator for one output
	Unroll int // elements that a thread loads at once (vt0)
}

// Reductions whose accumulator does not depend on the input type: a value with its index, and Welford's mean and
// variance.
var (
	ReduceIndex   = Reduction{Acc: 16, Unroll: 4} // max, min, argmax and argmin
	ReduceWelford = Reduction{Acc: 16, Unroll: 2} // var and std, by Welford's algorithm
)

// ReduceSum returns the reduction of sum, mean and norm over elements of the given size. 16-bit types accumulate
// in float32.
func ReduceSum(bytes int) Reduction { return Reduction{Acc: max(bytes, 4), Unroll: 4} }

// ReduceSame returns a reduction that accumulates in the input's own type: amax, any, all.
func ReduceSame(bytes int) Reduction { return Reduction{Acc: bytes, Unroll: 4} }

// Reduced describes the input and output of a reduction.
type Reduced struct {
	N            int           // dimensions
	Size, Stride Dims          // of the input, by dimension
	Over         [MaxDims]bool // the dimensions that are reduced
	In, Out      int           // size of an input element and of an output element, in bytes
	Narrows      bool          // inputs and outputs are 16-bit, accumulated in float32
}

// ReduceLaunch is the memory of one launch, in bytes.
type ReduceLaunch struct {
	Buffer     uint64 // bytes of the buffer that thread blocks share
	Semaphores uint64 // bytes of the semaphores that synchronize the blocks
}

// Reduce returns the memory of a reduction: the accumulators of 16-bit types that need several launches, which
// live as long as the reduction, and the workspace of each launch in turn. Launches without a workspace are
// omitted.
func (r Rules) Reduce(k Reduction, x Reduced) (accumulators uint64, launches []ReduceLaunch) {
	for _, n := range x.Size[:x.N] {
		if n == 0 {
			return 0, nil
		}
	}
	it := newReduceIter(&x)
	it.threadMax = r.threadsPerSM()
	if x.Narrows && !it.narrow() {
		accumulators = uint64(it.outputs() * k.Acc)
	}
	return accumulators, r.split(k, it, nil)
}

// split appends the launches of a reduction. It halves an iterator that 32 bits cannot index, along the dimension
// with the largest extent.
func (r Rules) split(k Reduction, it reduceIter, launches []ReduceLaunch) []ReduceLaunch {
	if it.narrow() {
		if buffer, semaphores := it.global(k, r.SMs); buffer > 0 {
			launches = append(launches, ReduceLaunch{uint64(buffer), uint64(semaphores)})
		}
		return launches
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
	return r.split(k, second, r.split(k, first, launches))
}

// reduceIter is a TensorIterator for a reduction. Strides are in elements; the output's strides are zero in reduced
// dimensions.
type reduceIter struct {
	n         int
	shape     Dims
	in, out   Dims
	inBytes   int
	outBytes  int
	threadMax int
}

// newReduceIter returns the iterator of x, with its dimensions ordered and joined.
func newReduceIter(x *Reduced) reduceIter {
	var out Dims
	step := 1
	for i := x.N - 1; i >= 0; i-- {
		if !x.Over[i] {
			out[i] = step
			step *= max(x.Size[i], 1)
		}
	}
	it := reduceIter{n: x.N, inBytes: x.In, outBytes: x.Out}
	perm := Order(x.N, &x.Size, []Dims{out, x.Stride}, true)
	for i, d := range perm[:x.N] {
		it.shape[i], it.in[i], it.out[i] = x.Size[d], x.Stride[d], out[d]
	}
	it.coalesce()
	return it
}

// coalesce joins neighboring dimensions that are contiguous in both tensors.
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

// narrow reports whether 32 bits can index everything.
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

// reducedDims returns how many of the leading dimensions are reduced.
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

// outputVector returns how many neighboring outputs one thread computes.
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

// global returns the bytes of the buffer that blocks share and of their semaphores, or zeros if no output
// is shared (setReduceConfig).
func (it *reduceIter) global(k Reduction, sms int) (buffer, semaphores int) {
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
			dim0 /= k.Unroll
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
	if CeilDiv(inputs, stepIn) < min(height*16, 256) {
		return 0, 0
	}
	stepIn *= height
	values := CeilDiv(inputs, stepIn)
	target := sms * (it.threadMax / (width * height))
	grid := CeilDiv(outputs/vector, stepOut)
	if values < 256 || grid > target {
		return 0, 0
	}
	ctas := max(min(CeilDiv(target, grid), CeilDiv(values, 16)), CeilDiv(values, 256))
	if ctas <= 1 {
		return 0, 0
	}
	buffer = k.Acc * outputs * ctas
	if !onFastest {
		buffer *= width * vector
	}
	return buffer, 4 * grid
}

// blockShape returns the shape of a block: powers of two, at most a warp wide unless the block would be too small
// (set_block_dimension).
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
