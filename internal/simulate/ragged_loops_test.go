// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"

	"snug/internal/setup"
	"snug/internal/stream"
)

// TestLoopsPlayLengths checks that each loop known by name runs its batches in order, at their own lengths.
func TestLoopsPlayLengths(t *testing.T) {
	const batch = 3
	lengths := []any{101.0, 307.0, 53.0, 211.0, 97.0, 401.0, 59.0, 151.0}
	for _, loop := range []string{"step", "script", "trainer", "accelerate", "lightning", "fabric", "trl"} {
		s, err := setup.Decode(map[string]any{
			"model": map[string]any{"name": "gpt2"}, "batch": float64(batch), "lengths": lengths, "loop": loop,
		}, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := batchesIn(res.World.Trace, batch, lengths); n != len(lengths) {
			t.Errorf("%s: %d of %d batches were run at their lengths", loop, n, len(lengths))
		}
	}
}

// batchesIn counts the lengths whose input_ids are allocated in order.
func batchesIn(trace *stream.Trace, batch int, lengths []any) (n int) {
	for _, e := range trace.Events {
		if n < len(lengths) && e.Kind == stream.Alloc && e.Size == uint64(batch*8*int(lengths[n].(float64))) {
			n++
		}
	}
	return n
}
