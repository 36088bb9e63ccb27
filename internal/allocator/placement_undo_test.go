// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"testing"

	"pgregory.net/rapid"
)

// TestRewind checks that a driver rewound to a mark behaves like one that never went past it.
func TestRewind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tried, plain := NewDriver(1<<50, 0), NewDriver(1<<50, 0)
		bytes := rapid.OneOf(rapid.Just[uint64](granularity), rapid.Just[uint64](blasWorkspace), rapid.Uint64Range(1, 200*granularity))
		var live []span
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 3).Draw(t, "op"); {
			case op == 0 && len(live) > 0:
				k := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				tried.Give(live[k].lo, live[k].bytes())
				plain.Give(live[k].lo, live[k].bytes())
				live = append(live[:k], live[k+1:]...)
			case op == 1:
				tried.Mark()
				for _, n := range rapid.SliceOfN(bytes, 0, 6).Draw(t, "tried") {
					tried.Take(n)
				}
				tried.Rewind()
			default:
				n := bytes.Draw(t, "bytes")
				tried.Mark()
				got, _ := tried.Take(n)
				tried.Keep()
				want, _ := plain.Take(n)
				if got != want {
					t.Fatalf("%d bytes go to %#x, want %#x", n, got, want)
				}
				live = append(live, span{got, got + n})
			}
		}
		if tried.used != plain.used || len(tried.owner) != len(plain.owner) {
			t.Fatalf("%d bytes at %d addresses, want %d at %d", tried.used, len(tried.owner), plain.used, len(plain.owner))
		}
	})
}
