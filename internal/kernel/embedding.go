// SPDX-License-Identifier: Apache-2.0

package kernel

// The gradient of an embedding (aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu,
// 2.11). Up to 3072 indices, one kernel adds rows directly. Beyond that, indices are sorted, equal ones form
// segments, segments are split into parts of ten rows, each part is summed, and the parts of a segment are added.

// EmbeddingSorts reports whether this many indices are sorted first.
func EmbeddingSorts(indices int) bool { return indices > 3072 }

// EmbeddingParts returns the largest possible number of segments, and of their parts, for n indices into a table
// with the given rows. Memory is allocated for these numbers.
func EmbeddingParts(n, rows int) (segments, parts int) {
	segments = min(n, rows)
	return segments, n/10 + segments
}

// EmbeddingFused reports whether parts are added directly to the table, in float32. That is the case if one block
// per segment would not fill the card.
func (r Rules) EmbeddingFused(segments, parts, width int) bool {
	warped := (width + 31) / 32 * 32
	blocks := (segments*warped + min(warped, 1024) - 1) / min(warped, 1024)
	return r.Torch >= 211 && blocks < 4*r.SMs && parts > 4*blocks
}
