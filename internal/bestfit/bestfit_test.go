// SPDX-License-Identifier: Apache-2.0

package bestfit

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// play plays a trace of allocations and frees.
func play(t *stream.Trace, v allocator.Version) *Player {
	p := New(allocator.NewDriver(1<<58, 0), v, len(t.Queues), 8)
	blocks := make([]int32, t.Allocations())
	for i := 0; i < len(t.Events); i++ {
		switch e := &t.Events[i]; {
		case e.Kind == stream.Free:
			p.Free(blocks[e.ID])
		case i+1 < len(t.Events) && t.Events[i+1].Kind == stream.Free && t.Events[i+1].ID == e.ID:
			r := Of(e.Size)
			p.AllocFree(&r, e.Queue)
			i++
		default:
			r := Of(e.Size)
			blocks[e.ID] = p.Alloc(&r, e.Queue)
		}
	}
	return p
}

// TestIsTheAllocator checks that the peaks equal those of package allocator for any sequence of allocations and
// frees.
func TestIsTheAllocator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := stream.New(400)
		tr.Queues = []uint64{0, 7}
		few := rapid.SampledFrom([]uint64{1000, 2000, 2 << 20, 4 << 20, 6 << 20, 9 << 20}) // these leave blocks of equal size
		sizes := rapid.SliceOfN(rapid.OneOf(few, rapid.Uint64Range(1, 4096), rapid.Uint64Range(1, 3<<20), rapid.Uint64Range(1, 64<<20)), 1, 12).Draw(t, "sizes")
		steps := rapid.SliceOfN(rapid.IntRange(0, 1<<20), 1, 400).Draw(t, "steps")
		var alive []uint32
		for _, s := range steps {
			if kind := s % 5; kind < 2 && len(alive) > 0 {
				k := s / 5 % len(alive)
				tr.Free(alive[k])
				alive[k] = alive[len(alive)-1]
				alive = alive[:len(alive)-1]
				continue
			}
			id := tr.Alloc(sizes[s/5%len(sizes)], uint16(s/5/len(sizes)%8/7))
			if s%5 == 4 {
				tr.Free(id)
			} else {
				alive = append(alive, id)
			}
		}
		compare(t, tr, allocator.Version{Major: 2, Minor: rapid.SampledFrom([]int{4, 11, 12}).Draw(t, "version")})
	})
}

// compare plays a trace here and in package allocator, and compares the peaks.
func compare(t rapid.TB, tr *stream.Trace, v allocator.Version) {
	t.Helper()
	a, err := allocator.New(allocator.NewDriver(1<<58, 0), v, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := a.Play(tr, allocator.PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := play(tr, v); got.PeakAllocated != want.PeakAllocated || got.PeakReserved != want.PeakReserved {
		t.Fatalf("PyTorch %v: peaks %d and %d, want %d and %d", v, got.PeakAllocated, got.PeakReserved, want.PeakAllocated, want.PeakReserved)
	}
}

// TestAllocFreeMakesYounger checks that from 2.12, where the oldest of equal blocks wins, AllocFree makes the
// block that it splits and merges the youngest, so that the next request gets the other block.
func TestAllocFreeMakesYounger(t *testing.T) {
	tr := stream.New(16)
	x, y := tr.Alloc(9<<20, 0), tr.Alloc(8<<20, 0)
	tr.Alloc(9<<20, 0)
	tr.Alloc(8<<20, 0) // two segments, each with 3 MiB left
	tr.Free(tr.Alloc(3<<19, 0))
	tr.Alloc(3<<19, 0)
	tr.Free(x)
	tr.Free(y)
	tr.Alloc(19<<20, 0) // fits only if the first segment is free as a whole
	for _, minor := range []int{11, 12} {
		compare(t, tr, allocator.Version{Major: 2, Minor: minor})
	}
}

// TestManyHoles checks thousands of holes of about one size, freed in different orders, small and large.
func TestManyHoles(t *testing.T) {
	for name, step := range map[string]int{"upwards": 1, "downwards": -1, "scattered": 7919} {
		for _, unit := range []uint64{1, 2000} {
			const n = 20_000
			tr := stream.New(6 * n)
			var keep, holes []uint32
			for i := range uint64(n) {
				holes = append(holes, tr.Alloc((3000+i%4)*unit, 0))
				keep = append(keep, tr.Alloc(1000*unit, 0))
			}
			for i := range n {
				tr.Free(holes[((i*step)%n+n)%n])
			}
			for i := range n {
				tr.Alloc(uint64(1000+i%2005)*unit, 0)
				tr.Free(keep[((i*step)%n+n)%n])
			}
			t.Run(fmt.Sprint(name, " ", unit), func(t *testing.T) {
				compare(t, tr, allocator.Version{Major: 2, Minor: 11})
				compare(t, tr, allocator.Version{Major: 2, Minor: 12})
			})
		}
	}
}

func TestSuits(t *testing.T) {
	v := allocator.Version{Major: 2, Minor: 11}
	for conf, want := range map[string]bool{"": true, "expandable_segments:True": false, "max_split_size_mb:128": false, "roundup_power2_divisions:4": false} {
		o, err := allocator.ParseOptions(conf, v)
		if err != nil {
			t.Fatal(err)
		}
		if got := Suits(o); got != want {
			t.Errorf("%q: %v", conf, got)
		}
	}
}

// TestRestore checks that existing blocks are restored as they were.
func TestRestore(t *testing.T) {
	v := allocator.Version{Major: 2, Minor: 11}
	held := func(size uint64, id uint32) allocator.BlockState {
		return allocator.BlockState{Size: size, Requested: size, Use: allocator.ActiveAllocated, ID: id}
	}
	segments := []allocator.SegmentState{
		{Address: 0x7f0040000000, Size: 20 << 20, Blocks: []allocator.BlockState{held(5<<20, 0), {Size: 4 << 20}, {Size: 3 << 20}, held(8<<20, allocator.NoID)}},
		{Address: 0x7f0030000000, Size: 2 << 20, Small: true, Blocks: []allocator.BlockState{held(512, 1), {Size: 2<<20 - 512}}},
	}
	tr := stream.New(8)
	tr.Reserve(2)
	tr.Alloc(6<<20, 0)
	tr.Free(0)
	tr.Alloc(5<<20, 0)
	tr.Free(1)
	tr.Alloc(1<<20, 0)
	tr.Alloc(1<<20, 0)
	a, err := allocator.New(allocator.NewDriver(1<<58, 0), v, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Restore(segments); err != nil {
		t.Fatal(err)
	}
	want, err := a.Play(tr, allocator.PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !Restorable(segments, tr.Queues) {
		t.Fatal("the segments are not restorable")
	}
	p := New(allocator.NewDriver(1<<58, 0), v, 1, 8)
	blocks := make([]int32, tr.Allocations())
	p.Restore(segments, tr.Queues, blocks[:2])
	for _, e := range tr.Events {
		if e.Kind == stream.Free {
			p.Free(blocks[e.ID])
			continue
		}
		r := Of(e.Size)
		blocks[e.ID] = p.Alloc(&r, e.Queue)
	}
	if p.PeakAllocated != want.PeakAllocated || p.PeakReserved != want.PeakReserved {
		t.Errorf("peaks %d and %d, want %d and %d", p.PeakAllocated, p.PeakReserved, want.PeakAllocated, want.PeakReserved)
	}
	segments[0].Blocks[1].Use = allocator.ActivePending
	if Restorable(segments, tr.Queues) {
		t.Error("a block that waits for a stream was accepted")
	}
}
