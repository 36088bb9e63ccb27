// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"errors"
	"strings"
	"testing"
)

func alloc(t testing.TB, a *Allocator, n uint64) Ref {
	t.Helper()
	r, err := a.Alloc(n, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestOverflowPools checks that a MemPool opened with use_on_oom serves the default pool when memory runs out, from
// 2.11 before the cache is flushed.
func TestOverflowPools(t *testing.T) {
	for minor, want := range map[int]struct{ fits, flushed bool }{7: {false, true}, 8: {true, true}, 11: {true, false}} {
		a := newAllocator(t, 100<<20, minor, "")
		id := PoolID{B: 1}
		must(t, a.BeginPool(id, PoolOptions{UseOnOOM: true}))
		r := alloc(t, a, 60<<20)
		must(t, a.EndPool(id))
		must(t, a.Free(r))
		must(t, a.Free(alloc(t, a, 30<<20)))
		_, err := a.Alloc(50<<20, 0)
		if fits, flushed := err == nil, a.Stats().AllocRetries > 0; fits != want.fits || flushed != want.flushed {
			t.Errorf("2.%d: fits %v, flushed %v, want %+v", minor, fits, flushed, want)
		}
	}
}

func TestNoSplitPool(t *testing.T) {
	for minor, want := range map[int]uint64{9: 2 << 20, 10: 20 << 20} {
		a := newAllocator(t, 1<<30, minor, "")
		must(t, a.BeginPool(PoolID{B: 1}, PoolOptions{NoSplit: true}))
		if got := a.Size(alloc(t, a, 2<<20)); got != want {
			t.Errorf("2.%d: block size %d, want %d", minor, got, want)
		}
	}
}

func TestMemPoolAndExpandable(t *testing.T) {
	tests := []struct {
		minor    int
		custom   bool
		fails    bool
		segments uint64 // number of plain segments
	}{
		{4, false, false, 1}, {6, false, false, 0}, {7, false, true, 0}, {8, false, false, 0},
		{8, true, true, 0}, {9, true, true, 0}, {10, true, false, 1}, {11, false, false, 0},
	}
	for _, test := range tests {
		a := newAllocator(t, 1<<30, test.minor, "expandable_segments:True")
		must(t, a.BeginPool(PoolID{B: 1}, PoolOptions{CustomAllocator: test.custom}))
		_, err := a.Alloc(30<<20, 0)
		if (err != nil) != test.fails || a.Stats().Segment.All.Current != test.segments {
			t.Errorf("2.%d, custom %v: error %v, %d plain segments", test.minor, test.custom, err, a.Stats().Segment.All.Current)
		}
	}
}

// TestCaptureOrder checks that with two scopes open, 2.10 and later use the newest first.
func TestCaptureOrder(t *testing.T) {
	for minor, want := range map[int]PoolID{9: {A: 1}, 10: {A: 2}} {
		a := newAllocator(t, 1<<30, minor, "")
		must(t, a.BeginPool(PoolID{A: 1}, PoolOptions{}))
		must(t, a.BeginPool(PoolID{A: 2}, PoolOptions{}))
		alloc(t, a, 1)
		if got := a.Segments()[0].Pool; got != want {
			t.Errorf("2.%d: pool %v, want %v", minor, got, want)
		}
	}
	a := newAllocator(t, 1<<30, 11, "")
	must(t, a.BeginPool(PoolID{A: 1}, PoolOptions{Accept: func(s uint64) bool { return s == 5 }}))
	alloc(t, a, 1)
	if got := a.Segments()[0].Pool; got != (PoolID{}) {
		t.Errorf("a stream that the scope does not cover was served from %v", got)
	}
}

// TestDeferredFree checks that a block used by another stream and freed during a capture waits for the capture's end;
// in 2.12 the end itself completes the free.
func TestDeferredFree(t *testing.T) {
	for minor, want := range map[int]uint64{11: 1, 12: 0} {
		a := newAllocator(t, 1<<30, minor, "")
		id := PoolID{A: 1}
		must(t, a.BeginPool(id, PoolOptions{}))
		r := alloc(t, a, 1<<20)
		must(t, a.RecordStream(r, 0x5000))
		must(t, a.Free(r))
		if got := a.Stats().Active.All.Current; got != 1 {
			t.Errorf("2.%d: %d active during the capture, want 1", minor, got)
		}
		must(t, a.EndPool(id))
		if got := a.Stats().Active.All.Current; got != want {
			t.Errorf("2.%d: %d active after the capture, want %d", minor, got, want)
		}
		alloc(t, a, 1)
		if got := a.Stats().Active.All.Current; got != 1 {
			t.Errorf("2.%d: %d active after the next allocation, want 1", minor, got)
		}
		must(t, audit(a))
	}
}

func TestEmptyCacheInCapture(t *testing.T) {
	for minor, fails := range map[int]bool{7: true, 8: false} {
		a := newAllocator(t, 1<<30, minor, "")
		must(t, a.Free(alloc(t, a, 30<<20)))
		must(t, a.BeginPool(PoolID{A: 1}, PoolOptions{}))
		if err := a.EmptyCache(); (err != nil) != fails {
			t.Errorf("2.%d: error %v", minor, err)
		}
		if a.Reserved() != 30<<20 {
			t.Errorf("2.%d: the default pool was flushed during a capture", minor)
		}
	}
}

// TestFractionOne checks that up to 2.9 a fraction of 1.0 is a limit like any other.
func TestFractionOne(t *testing.T) {
	for minor, want := range map[int]bool{9: true, 10: false} {
		a := newAllocator(t, 64<<20, minor, "")
		must(t, a.SetMemoryFraction(1))
		_, err := a.Alloc(100<<20, 0)
		var oom *OutOfMemoryError
		if !errors.As(err, &oom) || oom.Limited != want || strings.Contains(oom.Error(), "allowed") != want {
			t.Errorf("2.%d: %v", minor, err)
		}
	}
}

// TestOldDivisions checks that up to 2.3 one division means no rounding at all.
func TestOldDivisions(t *testing.T) {
	for minor, want := range map[int]uint64{3: 1000, 4: 1024} {
		a := newAllocator(t, 1<<30, minor, "roundup_power2_divisions:1")
		if got := a.Size(alloc(t, a, 1000)); got != want {
			t.Errorf("2.%d: block size for 1000 bytes is %d, want %d", minor, got, want)
		}
		must(t, audit(a))
	}
}

// TestSwitchingExpandable checks that with the option turned off again, expandable blocks are skipped and the request
// gets a plain segment. Combined with max_split_size, the real allocator may fail its own assertion, and this one
// returns an error.
func TestSwitchingExpandable(t *testing.T) {
	a := newAllocator(t, 1<<30, 11, "expandable_segments:True")
	must(t, a.Free(alloc(t, a, 30<<20)))
	must(t, a.Configure("expandable_segments:False"))
	alloc(t, a, 30<<20)
	if s := a.Stats(); s.Segment.All.Current != 1 || a.Reserved() != 70<<20 {
		t.Errorf("%d plain segments, %d reserved", s.Segment.All.Current, a.Reserved())
	}

	a = newAllocator(t, 256<<20, 11, "max_split_size_mb:64")
	must(t, a.Free(alloc(t, a, 150<<20)))
	must(t, a.Configure("expandable_segments:True,max_split_size_mb:64"))
	r := alloc(t, a, 140<<20) // splits the oversize segment
	alloc(t, a, 5<<20)        // keeps it split
	must(t, a.Free(r))
	must(t, a.Configure("expandable_segments:False,max_split_size_mb:64"))
	if _, err := a.Alloc(200<<20, 0); !errors.Is(err, ErrSplitSegment) {
		t.Errorf("error %v, want ErrSplitSegment", err)
	}
	must(t, audit(a))
}
