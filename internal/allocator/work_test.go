// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/units"
)

// heldPages returns expandable segments of one page each, all in use, at the given distance.
func heldPages(n int, apart uint64, stream func(int) uint64) []SegmentState {
	var out []SegmentState
	for i := range n {
		out = append(out, SegmentState{
			Address: firstAddress + uint64(i)*apart, Size: LargeBuffer, Stream: stream(i), Expandable: true,
			Blocks: []BlockState{{Size: LargeBuffer, Requested: LargeBuffer, Use: ActiveAllocated, ID: NoID}},
		})
	}
	return out
}

func restored(t *testing.T, dev Device, segments []SegmentState) *Allocator {
	t.Helper()
	a, err := New(dev, Version{2, 11}, Options{Expandable: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(segments); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRestoreManyRanges checks that each segment finds its range without examining the others: in one range with
// gaps, in separate ranges, and with alternating streams.
func TestRestoreManyRanges(t *testing.T) {
	const n = 20_000
	one := func(int) uint64 { return 0 }
	for name, c := range map[string]struct {
		segments []SegmentState
		ranges   int
	}{
		"one range": {heldPages(n, 2*LargeBuffer, one), 1}, // nine eighths of the card's memory
		"far apart": {heldPages(n, 2<<40, one), n},
		"streams":   {heldPages(n, 2*LargeBuffer, func(i int) uint64 { return uint64(i % 100) }), 100},
	} {
		a := restored(t, &Simple{Total: 1 << 40}, c.segments)
		if got := len(a.ranges) - 1; got != c.ranges {
			t.Errorf("%s: %d ranges, want %d", name, got, c.ranges)
		}
		if diff := cmp.Diff(c.segments, a.Segments()); diff != "" {
			t.Errorf("%s: (-restored +held):\n%s", name, diff[:min(len(diff), 500)])
		}
	}
}

func TestRestoreManyOwners(t *testing.T) {
	a, err := New(&Simple{Total: 1 << 50}, Version{2, 11}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = a.Restore(heldPages(maxOwners+1, 2*LargeBuffer, func(i int) uint64 { return uint64(i) }))
	if err == nil || !strings.Contains(err.Error(), "more than 4096 pools and streams") {
		t.Errorf("got %v", err)
	}
}

// TestMostWork checks that the total work is limited if gaps that are too small are examined for every request.
func TestMostWork(t *testing.T) {
	const gaps, room = 10_000, 5_000_000
	a := restored(t, &Simple{Total: 1 << 45}, heldPages(gaps, 2*LargeBuffer, func(int) uint64 { return 0 }))
	a.work = maxWork - room // most of the work is already done
	for i := range 100_000 {
		_, err := a.Alloc(3*LargeBuffer, 0)
		if errors.Is(err, errTooMuchWork) {
			if a.work > maxWork+gaps || i < room/gaps/3 || i > 2*room/gaps {
				t.Errorf("refused after %d requests and %d steps", i, a.work)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Error("never refused")
}

// countingDevice counts its calls.
type countingDevice struct {
	Simple
	calls int
}

func (d *countingDevice) Map(page, n uint64) uint64 {
	d.calls++
	return d.Simple.Map(page, n)
}

func (d *countingDevice) Unmap(page, n uint64) {
	d.calls++
	d.Simple.Unmap(page, n)
}

// TestMapsAtOnce checks that the pages of a request are mapped in one call, however large it is.
func TestMapsAtOnce(t *testing.T) {
	d := &countingDevice{Simple: Simple{Total: 1 << 58}}
	a := restored(t, d, nil)
	r, err := a.Alloc(1<<50, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Free(r); err != nil {
		t.Fatal(err)
	}
	if err := a.EmptyCache(); err != nil {
		t.Fatal(err)
	}
	if d.calls > 4 || d.Used() != 0 {
		t.Errorf("%d calls for %d bytes; %d bytes are still mapped", d.calls, uint64(1)<<50, d.Used())
	}
	small := &countingDevice{Simple: Simple{Total: units.GiB}}
	if _, err := restored(t, small, nil).Alloc(2*units.GiB, 0); err == nil || small.Used() != 0 {
		t.Errorf("a card that is too small: %v, %d bytes are left mapped", err, small.Used())
	}
}
