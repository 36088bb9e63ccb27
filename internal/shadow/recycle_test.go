// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"testing"

	"snug/internal/kernel"
)

// pagesOf counts the pages of tensors and nodes that a world has.
func pagesOf(w *World) int {
	p := &w.pages
	return len(p.tensors.used) + len(p.tensors.spare) + len(p.nodes.used) + len(p.nodes.spare)
}

// TestRecycle checks that a hundred steps need no more memory than ten, and that live objects are not recycled.
func TestRecycle(t *testing.T) {
	w := NewWorld(kernel.Rules{})
	weight := w.Parameter("weight", Dims(8, 8), Float32, false)
	var after [2]int
	for i := range 100 {
		x := w.Empty(Dims(4, 8), Float32).Hold()
		for range 200 {
			x = Replace(x, x.Mul(weight.SumAll()))
		}
		x.Drop()
		w.Recycle()
		if i == 9 {
			after[0] = pagesOf(w)
		}
		after[1] = pagesOf(w)
	}
	if after[0] == 0 || after[1] > after[0] {
		t.Errorf("ten steps take %d pages, a hundred take %d", after[0], after[1])
	}
	if weight.Dropped() || weight.Name() != "weight" {
		t.Error("a parameter was recycled")
	}
}
