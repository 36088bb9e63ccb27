// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

// TestRemedies compares a remedy with a run that was measured with it: expandable segments reduced the peak from 8.99
// GiB to 4.97 GiB.
func TestRemedies(t *testing.T) {
	var s, with *setup.Setup
	var measured uint64
	for _, row := range raggedRows(t) {
		switch row.setup.ID {
		case "gpt2-uniform-1":
			s = row.setup
		case "gpt2-uniform-expandable-1":
			with, measured = row.setup, row.reserved
		}
	}
	a, err := Estimate(s, gpu.Card{})
	if err != nil {
		t.Fatal(err)
	}
	list := a.Lengths.Remedies
	if len(list) < 3 || list[0].Change != with.Allocator || list[0].PeakReserved != measured {
		t.Errorf("%+v; %s was measured at %d", list, with.Allocator, measured)
	}
	for i := 1; i < len(list); i++ {
		if list[i].PeakReserved < list[i-1].PeakReserved || list[i].PeakReserved >= a.PeakReserved {
			t.Errorf("%+v does not reduce %d, or is out of order", list[i], a.PeakReserved)
		}
	}
}
