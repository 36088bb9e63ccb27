// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snug/internal/allocator"
	"snug/internal/snapshot"
)

const (
	oneStream  = "gpt2-2l-b4-s128-fp32-adamw.pickle.gz"
	withStacks = "two-tower-b64-s128-amp-fp16-adamw-stacks.pickle.gz"
	expandable = "llama-160m-b4-s512-amp-bf16-adamw-expandable.pickle.gz"
)

func recording(t *testing.T, name string) (*snapshot.Recording, *snapshot.Device) {
	t.Helper()
	f, err := os.Open(filepath.Join("../snapshot/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return rec, rec.Busiest()
}

func run(t *testing.T, rec *snapshot.Recording, d *snapshot.Device, o Options) *Result {
	t.Helper()
	res, err := Run(rec, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestMismatches changes a recording and checks that the difference is reported.
func TestMismatches(t *testing.T) {
	tests := map[string]struct {
		file   string
		change func(*snapshot.Device)
		want   string
	}{
		"another size": {oneStream, func(d *snapshot.Device) { d.SegmentEvents[3].Size += 2 << 20 },
			"the replay allocates a segment of"},
		"one too many": {oneStream, func(d *snapshot.Device) {
			d.SegmentEvents = append(d.SegmentEvents, snapshot.SegmentEvent{Addr: 1 << 30, Size: 2 << 20, Event: len(d.Trace.Events)})
		}, "that the replay does not"},
		"one too few": {oneStream, func(d *snapshot.Device) { d.SegmentEvents = slices.Delete(d.SegmentEvents, 2, 3) },
			"the recording does nothing before a segment_alloc"},
		"another moment": {expandable, func(d *snapshot.Device) { d.SegmentEvents[5].Event++ },
			"the replay maps a page of"},
		"another order": {oneStream, func(d *snapshot.Device) {
			a, b := d.SegmentEvents[0], d.SegmentEvents[1]
			a.Addr, b.Addr = b.Addr, a.Addr
			a.Size, b.Size = b.Size, a.Size
			d.SegmentEvents[0], d.SegmentEvents[1] = a, b
		}, "the replay allocates a segment of"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec, d := recording(t, tt.file)
			tt.change(d)
			res := run(t, rec, d, Options{})
			if res.Exact() || !strings.Contains(res.Mismatch, tt.want) {
				t.Errorf("exact %v, mismatch %q, want %q", res.Exact(), res.Mismatch, tt.want)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	rec, d := recording(t, oneStream)
	free := run(t, rec, d, Options{Own: true})
	if at := run(t, rec, d, Options{Limit: free.PeakReserved}); at.OOM != nil {
		t.Errorf("the run does not fit into its own peak of %d bytes", free.PeakReserved)
	}
	below := run(t, rec, d, Options{Limit: free.PeakAllocated - 1})
	if below.OOM == nil {
		t.Fatal("the run fits into less than it allocates at once")
	}
	if below.OOM.Total != free.PeakAllocated-1 || below.PeakReserved > below.OOM.Total {
		t.Errorf("card of %d bytes, limit %d, peak %d", below.OOM.Total, free.PeakAllocated-1, below.PeakReserved)
	}
	if below.Checked {
		t.Error("recorded addresses were used with a limit")
	}
}

func TestCompareIsSorted(t *testing.T) {
	rec, d := recording(t, oneStream)
	outcomes, err := Compare(rec, d, Options{Limit: 1400 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(outcomes); i++ {
		a, b := outcomes[i-1], outcomes[i]
		if !a.Fits() && b.Fits() || a.Fits() == b.Fits() && a.PeakReserved > b.PeakReserved {
			t.Errorf("%q before %q", a.Conf, b.Conf)
		}
	}
	if old, err := Compare(rec, d, Options{Torch: "2.1"}); err != nil || len(old) >= len(outcomes) {
		t.Errorf("%d settings in 2.1 without a limit, %d in 2.11 with one (%v)", len(old), len(outcomes), err)
	}
}

func TestTimeline(t *testing.T) {
	rec, d := recording(t, oneStream)
	res := run(t, rec, d, Options{Samples: 20})
	var top Sample
	for _, s := range res.Timeline {
		top.Allocated, top.Reserved = max(top.Allocated, s.Allocated), max(top.Reserved, s.Reserved)
	}
	if len(res.Timeline) != 20 || top.Allocated != res.PeakAllocated || top.Reserved != res.PeakReserved {
		t.Errorf("%d samples up to %+v; peaks %d, %d", len(res.Timeline), top, res.PeakAllocated, res.PeakReserved)
	}
}

func TestPhase(t *testing.T) {
	rec, d := recording(t, withStacks)
	seen := map[string]bool{}
	for i := range d.Trace.Events {
		seen[MomentOf(rec, d, i).Phase] = true
	}
	for _, want := range []string{"in forward", "in backward", "in the optimizer step"} {
		if !seen[want] {
			t.Errorf("no event is %q; found %v", want, seen)
		}
	}
	rec, d = recording(t, oneStream)
	last := MomentOf(rec, d, len(d.Trace.Events)-1)
	if !last.Timed || last.Seconds <= 0 || last.Phase == "" {
		t.Errorf("last event %+v", last)
	}
	if m := MomentOf(rec, d, -1); m.Event != -1 || m.Timed {
		t.Errorf("before the recording: %+v", m)
	}
}

func TestVariable(t *testing.T) {
	for minor, want := range map[int]string{9: "PYTORCH_CUDA_ALLOC_CONF", 10: "PYTORCH_ALLOC_CONF", 11: "PYTORCH_CUDA_ALLOC_CONF"} {
		if got := Variable(allocator.Version{Major: 2, Minor: minor}); got != want {
			t.Errorf("2.%d: %s, want %s", minor, got, want)
		}
	}
}
