// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"snug/internal/snapshot"
)

// TestRetry replays ragged runs with expandable segments: under the cap in the log, the request succeeds; without the
// log the cap is not known well enough.
func TestRetry(t *testing.T) {
	log, recorded := readLog(t, "ragged"), readRecorded(t, "ragged")
	v := Judge(Evidence{Log: log, Recorded: recorded})
	if v.Retry == nil || !v.Retry.Fits || v.Retry.Needs > v.Message.Limit || v.Retry.Needs < recorded.Allocated {
		t.Errorf("with the log: %+v, cap %d", v.Retry, v.Message.Limit)
	}
	if want := "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"; v.Fixes[0].Change != want {
		t.Errorf("%q, want %q", v.Fixes[0].Change, want)
	}
	v = Judge(Evidence{Recorded: recorded})
	if v.Retry == nil || v.Retry.Fits || !v.Retry.Unsure || !strings.Contains(v.Why, "add the log") {
		t.Errorf("without the log: %+v (%s)", v.Retry, v.Why)
	}
	if r := recorded.retry(recorded.Allocated/2, recorded.Allocated/2); r == nil || r.Fits || r.Unsure {
		t.Errorf("in half of its tensors' memory: %+v", r)
	}
	// A setting that does not help is not recommended.
	c := &failure{message: v.Message}
	for _, f := range c.defragmented(&Retry{}) {
		if strings.Contains(f.Change, "expandable") {
			t.Errorf("advised: %s", f.Change)
		}
	}
}

// TestCompare checks that only memory that grew is listed. The earlier snapshot is the later one without that
// memory.
func TestCompare(t *testing.T) {
	later, earlier := readRecorded(t, "outputs_kept"), readRecorded(t, "outputs_kept")
	if changes := Compare(earlier, later); len(changes) != 0 {
		t.Errorf("a snapshot and itself: %+v", changes)
	}
	h := &earlier.Held[0]
	h.Bytes, h.Count = h.Bytes-3<<30, h.Count-90
	earlier.Allocated -= 3 << 30
	changes := Compare(earlier, later)
	if len(changes) != 1 || changes[0].Grown() != 3<<30 || changes[0].Count != 90 || changes[0].Place() != "outputs_kept.py:10" {
		t.Fatalf("%+v", changes)
	}
	// Without a failed request, only the difference between the snapshots decides.
	later.OOM, later.Steps = nil, 0
	for i := range later.Held {
		later.Held[i].visits = 0
	}
	v := Judge(Evidence{Recorded: later, Earlier: earlier, Keeper: keeperIn})
	if v.Code != Leak || v.Where != "outputs_kept.py:15" || !strings.Contains(v.Why, "3.00 GiB in 90 tensors, was allocated at outputs_kept.py:10") {
		t.Errorf("%s at %s: %s", v.Code, v.Where, v.Why)
	}
	if v := Judge(Evidence{Recorded: earlier, Earlier: later}); v.Code == Leak && v.Confidence == Likely {
		t.Errorf("freed memory was reported as a leak: %s", v.Why)
	}
}

// TestPeak checks that the holders of a successful run are from its peak, not from its end.
func TestPeak(t *testing.T) {
	f, err := os.Open("../../testdata/measured/traces/llama-160m-b2-s512-amp-bf16-adamw-stacks.pickle.gz")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	r := ReadRecording(rec, rec.Busiest())
	_, peak := r.walked.peak(r.device)
	sum, kinds := uint64(0), map[string]bool{}
	for _, h := range r.Held {
		sum += h.Bytes
		kinds[h.What] = true
	}
	if !r.AtPeak || sum != peak || sum <= r.Allocated {
		t.Errorf("at the peak: %v, %d bytes of %d; %d at the end", r.AtPeak, sum, peak, r.Allocated)
	}
	for _, k := range []string{Parameters, Gradients, Optimizer, Activations, Logits} {
		if !kinds[k] {
			t.Errorf("nothing holds %s", k)
		}
	}
}

// TestPieces checks that the map of a fragmented card adds up to the memory in use.
func TestPieces(t *testing.T) {
	r := readRecorded(t, "ragged")
	p := pieces(r.device.Final)
	if p.Reserved != r.Reserved || p.Unused != r.Reserved-r.Allocated || p.Largest >= r.OOM.Size || p.Free == 0 {
		t.Errorf("%+v", *p)
	}
	cells := p.Map(64)
	used := 0.0
	for _, c := range cells {
		if c < 0 || c > 1 {
			t.Errorf("a cell is used to %g", c)
		}
		used += c / 64 * float64(p.Reserved)
	}
	if math.Abs(used-float64(r.Allocated)) > 1 {
		t.Errorf("the map has %g bytes in use, the snapshot %d", used, r.Allocated)
	}
	if got := (&Pieces{}).Map(8); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestTimeline checks that the last column of a failed run equals its tensors' memory.
func TestTimeline(t *testing.T) {
	r := readRecorded(t, "graph_kept")
	line := r.Timeline(300)
	last := line.Columns[len(line.Columns)-1]
	sum := int64(0)
	for _, b := range last.Bytes {
		if b < 0 {
			t.Errorf("a kind has %d bytes", b)
		}
		sum += b
	}
	if share := float64(sum) / float64(r.Allocated); len(line.Columns) != 300 || share < 0.98 || share > 1.001 || last.Reserved != r.Reserved {
		t.Errorf("%d columns; the last has %d of %d bytes, reserved %d of %d", len(line.Columns), sum, r.Allocated, last.Reserved, r.Reserved)
	}
	if first := line.Columns[0]; first.Reserved >= last.Reserved {
		t.Errorf("reserved %d at first, %d at last", first.Reserved, last.Reserved)
	}
}

// TestFlames checks that the nodes below a call have no more bytes than the call, and that the leaves are kinds of
// memory.
func TestFlames(t *testing.T) {
	r := readRecorded(t, "graph_kept")
	root := r.Flames()
	var check func(f *Flame)
	check = func(f *Flame) {
		sum := int64(0)
		for _, b := range f.Below {
			sum += b.Bytes
			check(b)
		}
		if sum > f.Bytes || len(f.Below) == 0 && f.Kind == "" && f.Bytes > root.Bytes/100 {
			t.Errorf("%s has %d bytes, and %d below", f.Name, f.Bytes, sum)
		}
	}
	check(root)
	if len(root.Below) == 0 || !strings.HasPrefix(root.Below[0].Name, "<module> graph_kept.py:9") {
		t.Errorf("the largest call is %+v", root.Below[0].Name)
	}
}

// TestPage checks that the page contains all of its data, that the data parses, and that nothing is loaded from
// elsewhere.
func TestPage(t *testing.T) {
	r := readRecorded(t, "ragged")
	r.Held[0].Where.File = `</script><script>alert("x")</script>.py`
	v := Judge(Evidence{Recorded: r})
	var page bytes.Buffer
	if err := WritePage(&page, v, r); err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?i)(?:src|href)\s*=|https?:|url\(|@import|<link|</script><script>`).FindString(page.String()); m != "" {
		t.Errorf("the page has %q", m)
	}
	_, data, _ := strings.Cut(page.String(), "const D = ")
	data, _, _ = strings.Cut(data, ";\n")
	var got pageData
	if err := json.Unmarshal([]byte(data), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Bytes) != pageColumns || len(got.Bytes) != len(got.Reserved) || got.Flames.Bytes == 0 || len(got.Parts) != v.Pieces.Segments || got.Asked != r.OOM.Size {
		t.Errorf("%d and %d columns, %d segments", len(got.Bytes), len(got.Reserved), len(got.Parts))
	}
}

// FuzzSnapshot diagnoses and draws anything that can be read as a snapshot.
func FuzzSnapshot(f *testing.F) {
	for _, name := range []string{"too_big", "loading"} {
		in, err := os.Open(filepath.Join(oomData, name+".pickle.gz"))
		if err != nil {
			f.Fatal(err)
		}
		z, err := gzip.NewReader(in)
		if err != nil {
			f.Fatal(err)
		}
		data, err := io.ReadAll(z)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		_ = in.Close()
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := snapshot.Read(bytes.NewReader(data))
		if err != nil || rec.Busiest() == nil {
			return
		}
		r := ReadRecording(rec, rec.Busiest())
		v := Judge(Evidence{Recorded: r, Earlier: r})
		if err := WritePage(&bytes.Buffer{}, v, r); err != nil {
			t.Error(err)
		}
	})
}
