// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"snug/internal/units"
)

// TestBeyond checks that the batch that does not fit never seems to take as much memory as the largest one that does.
func TestBeyond(t *testing.T) {
	const fits = 25_297_357_537 // 23.56 GiB
	for next, want := range map[units.Bytes]string{fits + 2*units.MiB: "2.0 MiB more", fits + units.GiB: "24.56 GiB", fits - 2*units.MiB: "23.56 GiB"} {
		if got := beyond(fits, next); got != want {
			t.Errorf("%d: %q, want %q", next, got, want)
		}
	}
}
