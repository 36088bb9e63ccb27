// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/stream"
)

func newAllocator(t testing.TB, total uint64, minor int, conf string) *Allocator {
	t.Helper()
	v := Version{2, minor}
	opt, err := ParseOptions(conf, v)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(&Simple{Total: total}, v, opt)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestPlayPeaks(t *testing.T) {
	tr := stream.New(8)
	x := tr.Alloc(30<<20, 0) // 0
	y := tr.Alloc(40<<20, 0) // 1: the peak of both
	tr.Free(x)
	tr.Add(stream.Mark, 7, 0)
	z := tr.Alloc(30<<20, 0) // 4: reuses x's segment
	tr.Alloc(0, 0)
	tr.Free(y)
	tr.Free(z)
	tr.Add(stream.EmptyCache, 0, 0)
	a := newAllocator(t, 1<<30, 11, "")
	got, err := a.Play(tr, PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := Result{Events: 9, PeakAllocated: 70 << 20, PeakReserved: 70 << 20, PeakAllocatedAt: 1, PeakReservedAt: 1, OOMAt: -1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if a.Reserved() != 0 {
		t.Errorf("reserved %d after empty_cache", a.Reserved())
	}
}

func TestPlayStopsAtOOM(t *testing.T) {
	tr := stream.New(3)
	tr.Alloc(60<<20, 0)
	tr.Alloc(60<<20, 0)
	tr.Alloc(1, 0)
	got, err := newAllocator(t, 100<<20, 11, "").Play(tr, PlayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.OOM == nil || got.OOMAt != 1 || got.Events != 2 || got.PeakReserved != 60<<20 || got.OOM.Requested != 60<<20 {
		t.Errorf("got %+v", got)
	}
}

func TestPlayMalformed(t *testing.T) {
	alloc := stream.Event{Kind: stream.Alloc, Size: 100}
	free := stream.Event{Kind: stream.Free}
	tests := []struct {
		name   string
		events []stream.Event
		says   string
	}{
		{"never allocated", []stream.Event{free}, "event 0: free of allocation 0, which is not alive"},
		{"freed twice", []stream.Event{alloc, free, free}, "event 2: free of allocation 0, which is not alive"},
		{"free of a pending block", []stream.Event{alloc, {Kind: stream.FreeRequested}, free}, "event 2: free of"},
		{"requested twice", []stream.Event{alloc, {Kind: stream.FreeRequested}, {Kind: stream.FreeRequested}}, "event 2: free_requested"},
		{"completed without a request", []stream.Event{alloc, {Kind: stream.FreeCompleted}}, "event 1: free_completed"},
		{"one ID twice", []stream.Event{alloc, alloc}, "event 1: alloc of ID 0, which is already alive"},
		{"an ID out of order", []stream.Event{{Kind: stream.Alloc, Size: 1, ID: 1 << 30}}, "out of order"},
		{"no such queue", []stream.Event{{Kind: stream.Alloc, Size: 1, Queue: 9}}, "queue 9 of 1"},
		{"record_stream on no queue", []stream.Event{alloc, {Kind: stream.RecordStream, Queue: 9}}, "queue 9 of 1"},
		{"no such kind", []stream.Event{{Kind: 99}}, "unknown event kind"},
	}
	for _, test := range tests {
		tr := &stream.Trace{Events: test.events, Queues: []uint64{0}}
		_, err := newAllocator(t, 1<<30, 11, "").Play(tr, PlayOptions{})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error %v, want one containing %q", test.name, err, test.says)
		}
	}
}

// TestPlayPending checks that a block whose free is requested stays active until it completes.
func TestPlayPending(t *testing.T) {
	tr := stream.New(8)
	x := tr.Alloc(30<<20, 0)
	tr.Add(stream.FreeRequested, x, 0)
	y := tr.Alloc(30<<20, 0) // cannot reuse x's block
	tr.Add(stream.FreeCompleted, x, 0)
	tr.Alloc(30<<20, 0) // can reuse it
	tr.Free(y)
	a := newAllocator(t, 1<<30, 11, "")
	var active []uint64
	got, err := a.Play(tr, PlayOptions{Observe: func(int) { active = append(active, a.Stats().ActiveBytes.All.Current>>20) }})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{30, 30, 60, 30, 60, 30}, active); diff != "" {
		t.Errorf("active MiB by event (-want +got):\n%s", diff)
	}
	if got.PeakReserved != 60<<20 || got.PeakAllocated != 60<<20 {
		t.Errorf("got %+v", got)
	}
}

// TestPlayFlushCompletes checks that a flush waits for all streams, so that a later completion in the recording does
// nothing.
func TestPlayFlushCompletes(t *testing.T) {
	tr := stream.New(8)
	x := tr.Alloc(60<<20, 0)
	tr.Add(stream.FreeRequested, x, 0)
	y := tr.Alloc(60<<20, 0)
	tr.Add(stream.FreeCompleted, x, 0)
	tr.Free(y)
	a := newAllocator(t, 100<<20, 11, "")
	got, err := a.Play(tr, PlayOptions{})
	if err != nil || got.OOM != nil {
		t.Fatal(err, got.OOM)
	}
	if err := audit(a); err != nil {
		t.Error(err)
	}
	if s := a.Stats(); s.Active.All.Current != 0 || s.SyncAllStreams != 1 {
		t.Errorf("active %d, syncs %d", s.Active.All.Current, s.SyncAllStreams)
	}
}

// TestPlayRecordStream checks the two bounds for events that depend on timing.
func TestPlayRecordStream(t *testing.T) {
	tr := stream.New(8)
	side := tr.Queue(0x5000)
	for range 3 {
		x := tr.Alloc(30<<20, 0)
		tr.Add(stream.RecordStream, x, side)
		tr.Free(x)
	}
	for _, test := range []struct {
		atSync bool
		want   uint64
	}{{false, 30 << 20}, {true, 90 << 20}} {
		got, err := newAllocator(t, 1<<30, 11, "").Play(tr, PlayOptions{EventsAtSync: test.atSync})
		if err != nil || got.PeakReserved != test.want {
			t.Errorf("events at sync %v: reserved %d, %v, want %d", test.atSync, got.PeakReserved, err, test.want)
		}
	}
}

func TestPlayObserveEvery(t *testing.T) {
	tr := stream.New(8)
	for range 8 {
		tr.Alloc(1, 0)
	}
	var seen []int
	_, err := newAllocator(t, 1<<30, 11, "").Play(tr, PlayOptions{Every: 3, Observe: func(i int) { seen = append(seen, i) }})
	if diff := cmp.Diff([]int{0, 3, 6, 7}, seen); err != nil || diff != "" {
		t.Errorf("%v, indices (-want +got):\n%s", err, diff)
	}
}
