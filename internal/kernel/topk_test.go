// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"
	"testing"
)

// TestTopK compares the buffers with a recording on an H200: the 64 largest of 49152 bfloat16 logits for 2048
// tokens.
func TestTopK(t *testing.T) {
	buffers, sums := h200.TopK(2048, 49152, 2)
	if want := []uint64{4096, 16384, 16384, 3145728, 2097152, 24576, 24576}; !slices.Equal(buffers, want) {
		t.Errorf("buffers %v, want %v", buffers, want)
	}
	if sums.N != 1279 {
		t.Errorf("running sums take %d bytes, want 1279", sums.N)
	}
	if buffers, _ := h200.TopK(4096, 128, 4); buffers != nil {
		t.Errorf("one block for each of many short slices takes %v", buffers)
	}
}
