// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/replay"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

func readRecording(t testing.TB, path string) *snapshot.Recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rec, err := snapshot.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// oneGPU reports whether a recording's name belongs to a run on one GPU.
func oneGPU(path string) bool {
	for _, kind := range []string{"-ddp", "-fsdp", "-zero"} {
		if strings.Contains(path, kind) {
			return false
		}
	}
	return true
}

// TestOwnAddresses replays recordings from one GPU with our own addresses: none may be off by more than one percent,
// and all but a few have to be exact.
func TestOwnAddresses(t *testing.T) {
	folder := cmp.Or(os.Getenv("SNUG_TRUTH"), "../../testdata/measured")
	files, _ := filepath.Glob(filepath.Join(folder, "traces", "*.pickle.gz"))
	exact, all := 0, 0
	for _, path := range files {
		if !oneGPU(path) {
			continue
		}
		rec := readRecording(t, path)
		recorded, err := replay.Run(rec, rec.Busiest(), replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own, err := replay.Run(rec, rec.Busiest(), replay.Options{Own: true})
		if err != nil {
			t.Fatal(err)
		}
		all++
		off := float64(own.PeakReserved)/float64(recorded.PeakReserved) - 1
		if off == 0 {
			exact++
		}
		if off < -0.01 || off > 0.01 {
			t.Errorf("%s: peak reserved off by %+.2f %%", filepath.Base(path), 100*off)
		}
	}
	t.Logf("%d of %d exact", exact, all)
	if all < 30 || exact < all-4 {
		t.Errorf("only %d of %d recordings are exact with our own addresses", exact, all)
	}
}

// BenchmarkReplay plays a recording of 1.4 million entries, comparing every segment with the recorded ones. PyTorch
// writes two entries for most frees, which the trace folds into one event; both figures are reported.
func BenchmarkReplay(b *testing.B) {
	folder := cmp.Or(os.Getenv("SNUG_TRUTH"), "../../testdata/measured")
	rec := readRecording(b, filepath.Join(folder, "traces", "hilbert-b1-s8192-amp-bf16-adamw.pickle.gz"))
	dev := rec.Busiest()
	for b.Loop() {
		if _, err := replay.Run(rec, dev, replay.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	entries := len(dev.SegmentEvents)
	for _, e := range dev.Trace.Events {
		if entries++; e.Kind == stream.Free {
			entries++
		}
	}
	perSecond := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(float64(entries)*perSecond/1e6, "Mentries/s")
	b.ReportMetric(float64(len(dev.Trace.Events))*perSecond/1e6, "Mevents/s")
}
