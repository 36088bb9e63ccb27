// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"testing"

	"pgregory.net/rapid"

	"snug/internal/stream"
)

// TestLigerRows compares ligerRows with numbers from Liger itself.
func TestLigerRows(t *testing.T) {
	for _, c := range []struct{ rows, width, vocab, want int }{
		{16384, 4096, 32000, 2048},
		{16384, 2048, 128256, 512},
		{300, 512, 1000, 256},
		{256, 512, 1000, 128},
		{7, 512, 512, 7}, // a power of two, but no larger than the number of rows
		{1, 64, 500, 1},
		{5, 4096, 100, 5},
	} {
		if got := ligerRows(c.rows, c.width, c.vocab); got != c.want {
			t.Errorf("%d rows of %d, %d words: %d, want %d", c.rows, c.width, c.vocab, got, c.want)
		}
	}
}

// TestLigerRowsBound checks that a piece is one row, or that its logits have less than twice as many elements as
// the hidden states, rounded up to a whole row.
func TestLigerRowsBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 1<<20).Draw(t, "rows")
		width := rapid.IntRange(1, 1<<14).Draw(t, "width")
		vocab := rapid.IntRange(1, 1<<19).Draw(t, "vocab")
		got := ligerRows(rows, width, vocab)
		if got < 1 || got > rows || got > 1 && (got/2)*vocab > (rows+vocab)*width {
			t.Fatalf("%d", got)
		}
	})
}

// TestLigerKeeps trains one weight through each kernel, and checks which bytes are alive when backward begins
// and that all of them are freed afterwards.
func TestLigerKeeps(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(x, n *Tensor) *Tensor
		want uint64 // bytes besides the parameters and the input
	}{
		"norm": {func(x, n *Tensor) *Tensor { return x.LigerRMSNorm(n, true) }, 2*8*64*4 + 2*8*4},
		"glu":  {func(x, _ *Tensor) *Tensor { return x.LigerGLU(x.MulScalar()) }, 2 * 2 * 8 * 64 * 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := hopper()
			x := w.Parameter("x", Dims(2, 8, 64), Float32, false)
			n := w.Parameter("n", Dims(64), Float32, false)
			before := live(w)
			fn := w.Func()
			y := fn.Let(c.run(x, n))
			if got := live(w) - before; got != c.want {
				t.Errorf("%d bytes are alive, want %d", got, c.want)
			}
			loss := fn.Let(y.Sum(false, 0, 1, 2))
			loss.Backward()
			fn.Return(nil)
			grads := uint64(0)
			for _, p := range []*Tensor{x, n} {
				if p.Grad() != nil {
					grads += p.Grad().Bytes()
				}
			}
			if got := live(w) - before; got != grads {
				t.Errorf("%d bytes are alive after backward, want %d of gradients", got, grads)
			}
		})
	}
}

// live returns how many bytes the trace leaves allocated.
func live(w *World) uint64 {
	sizes, total := map[uint32]uint64{}, uint64(0)
	for _, e := range w.Trace.Events {
		switch e.Kind {
		case stream.Alloc:
			sizes[e.ID] = e.Size
			total += e.Size
		case stream.Free:
			total -= sizes[e.ID]
		}
	}
	return total
}

// TestLigerPieces checks that rows that divide evenly into pieces leave no empty piece at the end.
func TestLigerPieces(t *testing.T) {
	ops := func(rows int) (n int) {
		w := hopper()
		x, weight := w.Parameter("x", Dims(rows, 512), Float32, false), w.Parameter("head", Dims(1000, 512), Float32, false)
		target := w.Input(Int64, rows)
		w.Log = func(string) { n++ }
		x.LigerCrossEntropy(weight, target)
		return n
	}
	if whole, less := ops(256), ops(255); whole != less || whole == 0 {
		t.Errorf("%d ops for two whole pieces, %d for one row less", whole, less)
	}
}
