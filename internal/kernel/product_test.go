// SPDX-License-Identifier: Apache-2.0

package kernel

import "testing"

// TestProductWaste checks that a product that fills the card exactly wastes only the time its tiles take to start,
// and that in other products edges cost whole tiles and waves.
func TestProductWaste(t *testing.T) {
	full := ProductWaste(1, 256*11, 128*12, 1<<20, 132) // 132 tiles on 132 multiprocessors
	if full < 1 || full > 1.01 {
		t.Errorf("a full wave wastes %.3f, want nothing", full)
	}
	if over := ProductWaste(1, 256*11+1, 128*12, 1<<20, 132); over < 1.015 || over > 2 {
		t.Errorf("one more row wastes %.3f, want some, but less than a second wave", over)
	}
	if short := ProductWaste(1, 256*11, 128*12, productStart, 132); short < 1.99*full {
		t.Errorf("a sum as long as a tile's startup wastes %.3f, want twice as much", short)
	}
	if narrow := ProductWaste(1, 1<<14, 8, 1<<20, 132); narrow < 8 {
		t.Errorf("a result of 8 columns wastes %.3f, want a tile's width", narrow)
	}
}
