// SPDX-License-Identifier: Apache-2.0

package kernel

import "testing"

// TestColumnSum compares sizes with recordings of BERT and ViT on an H200.
func TestColumnSum(t *testing.T) {
	tests := []struct {
		rows, columns, bytes int
		buffer, semaphores   uint64
	}{
		{1024, 768, 2, 6291456, 24},
		{1024, 3072, 2, 25165824, 96},
		{1000, 768, 2, 0, 0},
		{0, 768, 2, 0, 0},
	}
	for _, tt := range tests {
		b, s := h200.ColumnSum(tt.rows, tt.columns, tt.bytes)
		if b != tt.buffer || s != tt.semaphores {
			t.Errorf("ColumnSum(%d, %d, %d) = %d, %d; want %d, %d", tt.rows, tt.columns, tt.bytes, b, s, tt.buffer, tt.semaphores)
		}
	}
}
