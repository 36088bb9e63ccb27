// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snug/internal/stream"
)

// event is an abbreviated event.
type event struct {
	Kind string
	ID   uint32
	Size uint64
}

func eventsOf(d *Device) []event {
	var out []event
	for _, e := range d.Trace.Events {
		out = append(out, event{e.Kind.String(), e.ID, e.Size})
	}
	return out
}

func mustRead(t *testing.T, v any, torchScript bool) *Recording {
	t.Helper()
	rec, err := Read(bytes.NewReader(pickled(v, torchScript)))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// twoAllocs creates a segment with two allocations and frees the first; the second is still alive at the end.
func twoAllocs() d {
	return snapshotOf(
		l{segmentOf(0, base, 2, true, 1024, "inactive", 512, "active_allocated", 2*mib-1536, "inactive")},
		l{
			at("segment_alloc", base, 2*mib),
			at("alloc", base, 1000),
			at("alloc", base+1024, 100),
			at("free_requested", base, 1000),
			at("free_completed", base, 1000),
		},
	)
}

func TestEvents(t *testing.T) {
	for name, torchScript := range map[string]bool{"cpython": false, "torchscript": true} {
		t.Run(name, func(t *testing.T) {
			rec := mustRead(t, twoAllocs(), torchScript)
			got := &rec.Devices[0]
			want := []event{{"alloc", 0, 1000}, {"alloc", 1, 100}, {"free", 0, 0}}
			if diff := cmp.Diff(want, eventsOf(got)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]uint64{base, base + 1024}, got.Addresses); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
			wantSegments := []SegmentEvent{{Addr: base, Size: 2 * mib, Kind: SegmentAlloc}}
			if diff := cmp.Diff(wantSegments, got.SegmentEvents); diff != "" {
				t.Errorf("segment events (-want +got):\n%s", diff)
			}
			if len(got.Start) != 0 || got.Entries != 5 || rec.Torch != "2.11" {
				t.Errorf("start %v, %d entries, torch %s", got.Start, got.Entries, rec.Torch)
			}
			if rec.Settings.RoundupDivisions["2"] != 8 || !rec.Settings.Known {
				t.Errorf("settings %+v", rec.Settings)
			}
			if diff := cmp.Diff([]Annotation{{Name: "step", Start: true, Time: 5}}, rec.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRequestsLeftOut checks that, in a recording without free requests, the completion counts as the free, even for
// blocks from before the recording.
func TestRequestsLeftOut(t *testing.T) {
	rec := mustRead(t, snapshotOf(
		l{segmentOf(0, base, 2, true, 2*mib, "inactive")},
		l{
			at("free_completed", base+1024, 100),
			at("alloc", base+512, 1000),
			at("free_completed", base+512, 1000),
			at("free_completed", base, 500),
		},
	), false)
	want := []event{{"free", 1, 0}, {"alloc", 2, 1000}, {"free", 2, 0}, {"free", 0, 0}}
	if diff := cmp.Diff(want, eventsOf(&rec.Devices[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFreeThatWaits(t *testing.T) {
	rec := mustRead(t, snapshotOf(
		l{segmentOf(0, base, 2, true, 2*mib, "inactive")},
		l{
			at("segment_alloc", base, 2*mib),
			at("alloc", base, 512),
			at("alloc", base+512, 512),
			at("free_requested", base, 512),
			at("free_requested", base+512, 512),
			at("free_completed", base, 512),
			at("free_completed", base+512, 512),
		},
	), false)
	want := []event{
		{"alloc", 0, 512}, {"alloc", 1, 512},
		{"free_requested", 0, 0}, {"free_requested", 1, 0}, {"free_completed", 0, 0}, {"free_completed", 1, 0},
	}
	if diff := cmp.Diff(want, eventsOf(&rec.Devices[0])); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRecordingThatBeginsMidRun(t *testing.T) {
	rec := mustRead(t, snapshotOf(
		l{segmentOf(0, base, 2, true, 512, "active_pending_free", 512, "inactive", 512, "active_allocated", 2*mib-1536, "inactive")},
		l{
			at("free_requested", base+512, 512),
			at("free_completed", base+512, 512),
			at("segment_free", base+1<<30, 20*mib),
		},
	), false)
	got := &rec.Devices[0]
	want := []Segment{
		{Addr: base, Size: 2 * mib, Small: true, Blocks: []Block{
			{Addr: base, Size: 512, Requested: 512, State: PendingFree},
			{Addr: base + 512, Size: 512, Requested: 512, State: Allocated},
			{Addr: base + 1024, Size: 512, Requested: 512, State: Allocated},
			{Addr: base + 1536, Size: 2*mib - 1536},
		}},
		{Addr: base + 1<<30, Size: 20 * mib, Blocks: []Block{{Addr: base + 1<<30, Size: 20 * mib}}},
	}
	if diff := cmp.Diff(want, got.Start); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]event{{"free", 1, 0}, {"empty_cache", 0, 0}}, eventsOf(got)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got.Trace.Initial != 3 {
		t.Errorf("%d allocations at the start, want 3", got.Trace.Initial)
	}
}

func TestFlushCausedByAllocation(t *testing.T) {
	rec := mustRead(t, snapshotOf(
		l{segmentOf(0, base+1<<30, 40, false, 40*mib, "active_allocated")},
		l{
			at("segment_alloc", base, 20*mib),
			at("alloc", base, 20*mib),
			at("free_requested", base, 20*mib),
			at("free_completed", base, 20*mib),
			at("segment_free", base, 20*mib),
			at("segment_alloc", base+1<<30, 40*mib),
			at("alloc", base+1<<30, 40*mib),
		},
	), false)
	want := []event{{"alloc", 0, 20 * mib}, {"free", 0, 0}, {"alloc", 1, 40 * mib}}
	if diff := cmp.Diff(want, eventsOf(&rec.Devices[0])); diff != "" {
		t.Errorf("a card of 40 MiB, full: no empty_cache was called (-want +got):\n%s", diff)
	}
}

func TestDevicesAndOOM(t *testing.T) {
	oom := d{"action", "oom", "device_free", 7 * mib, "size", 64 * mib, "stream", 0, "time_us", 9}
	rec := mustRead(t, snapshotOf(l{segmentOf(1, base, 2, true, 2*mib, "inactive")}, l{}, l{
		at("segment_alloc", base, 2*mib), at("alloc", base, 8), at("free_requested", base, 8), at("free_completed", base, 8), oom,
	}), false)
	if len(rec.Devices) != 1 || rec.Busiest().Index != 1 || rec.Device(0) != nil {
		t.Fatalf("devices %+v", rec.Devices)
	}
	want := []OOM{{Size: 64 * mib, DeviceFree: 7 * mib, Event: 2, Time: 9}}
	if diff := cmp.Diff(want, rec.Busiest().OOMs); diff != "" {
		t.Errorf("oom (-want +got):\n%s", diff)
	}
}

// TestOldest reads a file as PyTorch 2.0 wrote it: blocks without addresses, and a history.
func TestOldest(t *testing.T) {
	rec := mustRead(t, d{
		"segments", l{d{
			"device", 0, "address", base, "total_size", 2 * mib, "stream", 0, "segment_type", "small",
			"blocks", l{
				d{"size", 512, "requested_size", 8, "state", "active_allocated", "history", l{d{"addr", base, "real_size", 8}}},
				d{"size", 2*mib - 512, "requested_size", 0, "state", "inactive"},
			},
		}},
		"device_traces", l{l{
			d{"action", "segment_alloc", "addr", base, "size", 2 * mib, "stream", 0},
			d{"action", "alloc", "addr", base, "size", 8, "stream", 0},
		}},
	}, false)
	got := rec.Devices[0]
	if got.Final[0].Blocks[1].Addr != base+512 || rec.Torch != "2.0" || got.Times != nil {
		t.Errorf("got %+v, torch %s", got, rec.Torch)
	}
}

func TestStacks(t *testing.T) {
	frame := func(name string, line int) d { return d{"name", name, "filename", "train.py", "line", line} }
	with := func(e d, frames ...any) d { return append(e, "frames", l(frames)) }
	rec := mustRead(t, snapshotOf(
		l{segmentOf(0, base, 2, true, 2*mib, "inactive")},
		l{
			with(at("segment_alloc", base, 2*mib), frame("forward", 3), frame("main", 9)),
			with(at("alloc", base, 8), frame("forward", 3), frame("main", 9)),
			with(at("free_requested", base, 8), frame("main", 10)),
			at("free_completed", base, 8),
		},
	), false)
	got := rec.Devices[0]
	if diff := cmp.Diff([]uint32{1, 2}, got.Stacks); diff != "" {
		t.Errorf("stacks by event (-want +got):\n%s", diff)
	}
	if got.SegmentEvents[0].Stack != 1 {
		t.Errorf("equal stacks should have one number, got %d", got.SegmentEvents[0].Stack)
	}
	want := []Frame{{"train.py", "forward", 3}, {"train.py", "main", 9}, {"train.py", "main", 10}}
	if diff := cmp.Diff(want, rec.Frames); diff != "" {
		t.Errorf("frames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]uint32{nil, {0, 1}, {2}}, rec.Stacks, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("stacks (-want +got):\n%s", diff)
	}
}

func TestMetadata(t *testing.T) {
	labeled := func(text string, i int) d {
		e := at("alloc", base+uint64(i)*512, 512)
		e[len(e)-1] = text
		return e
	}
	trace := l{at("segment_alloc", base, 2*mib)}
	var want []string
	for i, text := range []string{"", "", "one", "one", "", "two", "two"} {
		trace = append(trace, labeled(text, i))
		want = append(want, text)
	}
	rec := mustRead(t, snapshotOf(l{segmentOf(0, base, 2, true, 2*mib, "inactive")}, trace), false)
	var got []string
	for _, id := range rec.Devices[0].Metadata {
		got = append(got, rec.Texts[id])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestQueues(t *testing.T) {
	side := d{"action", "alloc", "addr", base, "size", 8, "stream", 0x5000, "time_us", 1}
	rec := mustRead(t, snapshotOf(
		l{segmentOf(0, base, 2, true, 512, "active_allocated", 2*mib-512, "inactive")},
		l{at("segment_alloc", base, 2*mib), side},
	), false)
	tr := rec.Devices[0].Trace
	if got := tr.Queues[tr.Events[0].Queue]; got != 0x5000 || tr.Events[0].Kind != stream.Alloc {
		t.Errorf("queue %#x, want 0x5000", got)
	}
}
