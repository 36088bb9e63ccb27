// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"strings"
	"testing"

	"snug/internal/stream"
)

// TestRestorePlay continues a recording in which one allocation is live, one is pending, and some blocks are free.
func TestRestorePlay(t *testing.T) {
	a := newAllocator(t, 1<<30, 11, "")
	err := a.Restore([]SegmentState{
		{Address: 0x7f0002000000, Size: 2 << 20, Small: true, Blocks: []BlockState{
			{Size: 512, Requested: 4, Use: ActiveAllocated, ID: 0},
			{Size: 2<<20 - 512, Use: Inactive, ID: NoID},
		}},
		{Address: 0x7f0000000000, Size: 20 << 20, Blocks: []BlockState{
			{Size: 5 << 20, Use: Inactive, ID: NoID},
			{Size: 5 << 20, Requested: 5 << 20, Use: ActivePending, ID: 1},
			{Size: 5 << 20, Use: Inactive, ID: NoID},
			{Size: 5 << 20, Use: Inactive, ID: NoID}, // adjacent free blocks become one block
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := audit(a); err != nil {
		t.Fatal(err)
	}
	tr := stream.New(4)
	tr.Reserve(2)
	tr.Add(stream.FreeCompleted, 1, 0)
	x := tr.Alloc(20<<20, 0)
	tr.Free(0)
	tr.Free(x)
	got, err := a.Play(tr, PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.PeakReserved != 22<<20 || got.PeakReservedAt != -1 || got.PeakAllocated != 20<<20+512 || got.PeakAllocatedAt != 1 {
		t.Errorf("got %+v", got)
	}
	if a.dev.(*Simple).Used() != 22<<20 {
		t.Errorf("the device counts %d", a.dev.(*Simple).Used())
	}
}

// TestRestoreExpandable checks that the mapped stretches of one range become one range again.
func TestRestoreExpandable(t *testing.T) {
	const base = 0x320000000
	a := newAllocator(t, 1<<30, 11, "expandable_segments:True")
	full := func(offset uint64, id uint32) SegmentState {
		return SegmentState{Address: base + offset, Size: 20 << 20, Expandable: true,
			Blocks: []BlockState{{Size: 20 << 20, Requested: 20 << 20, Use: ActiveAllocated, ID: id}}}
	}
	if err := a.Restore([]SegmentState{full(0, 0), full(60<<20, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := audit(a); err != nil {
		t.Fatal(err)
	}
	tr := stream.New(2)
	tr.Reserve(2)
	tr.Alloc(40<<20, 0) // fits in the gap between the two stretches
	got, err := a.Play(tr, PlayOptions{})
	if err != nil || got.PeakReserved != 80<<20 {
		t.Fatalf("reserved %d, %v", got.PeakReserved, err)
	}
	if s := a.Segments(); len(s) != 1 || s[0].Address != base || len(s[0].Blocks) != 3 {
		t.Errorf("segments %+v", s)
	}
}

func TestRestoreErrors(t *testing.T) {
	good := SegmentState{Address: 1 << 30, Size: 2 << 20, Small: true, Blocks: []BlockState{{Size: 2 << 20, Use: ActiveAllocated, ID: 0}}}
	tests := []struct {
		name   string
		change func(*SegmentState)
		says   string
	}{
		{"no size", func(s *SegmentState) { s.Size = 0 }, "out of range"},
		{"too few blocks", func(s *SegmentState) { s.Size = 4 << 20 }, "its blocks add up to"},
		{"too many blocks", func(s *SegmentState) { s.Size = 1 << 20 }, "does not fit"},
		{"unknown state", func(s *SegmentState) { s.Blocks = []BlockState{{Size: 2 << 20, Use: 9}} }, "unknown state"},
	}
	for _, test := range tests {
		s := good
		test.change(&s)
		err := newAllocator(t, 1<<30, 11, "").Restore([]SegmentState{s})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one containing %q", test.name, err, test.says)
		}
	}
	a := newAllocator(t, 1<<30, 11, "")
	if err := a.Restore([]SegmentState{good}); err != nil {
		t.Fatal(err)
	}
	if err := a.Restore([]SegmentState{good}); err == nil {
		t.Error("a second Restore succeeded")
	}
	if _, err := a.Play(stream.New(0), PlayOptions{}); err == nil {
		t.Error("a trace without initial allocations was played on a state that has one")
	}
}
