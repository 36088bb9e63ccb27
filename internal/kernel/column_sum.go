// SPDX-License-Identifier: Apache-2.0

package kernel

// ColumnSum returns the workspace of the kernel that sums a contiguous matrix over its rows, for example for a
// linear layer's bias gradient: the buffer that blocks share and their semaphores, or zeros if one block handles
// a column.
func (r Rules) ColumnSum(rows, columns, elementBytes int) (buffer, semaphores uint64) {
	if rows <= 0 || columns <= 0 {
		return 0, 0
	}
	it := reduceIter{n: 2, inBytes: elementBytes, outBytes: elementBytes, threadMax: r.threadsPerSM()}
	it.shape, it.in, it.out = Dims{rows, columns}, Dims{columns, 1}, Dims{0, 1}
	it.coalesce()
	if !it.narrow() {
		return 0, 0 // the sum is split into several launches, none of which is large
	}
	b, s := it.global(ReduceSum(elementBytes), r.SMs)
	return uint64(b), uint64(s)
}
