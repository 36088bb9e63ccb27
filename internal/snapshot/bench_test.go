// SPDX-License-Identifier: Apache-2.0

package snapshot_test

import (
	"cmp"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"snug/internal/snapshot"
)

// longest is a recording of 1.4 million entries; withStacks has 116,000 entries with nine frames each.
const (
	longest    = "hilbert-b1-s8192-amp-bf16-adamw.pickle.gz"
	withStacks = "hilbert-b2-s1024-amp-bf16-adamw-stacks.pickle.gz"
)

// plainRecording returns a recording's decompressed bytes.
func plainRecording(b *testing.B, name string) string {
	folder := cmp.Or(os.Getenv("SNUG_TRUTH"), "../../testdata/measured")
	in, err := os.Open(filepath.Join(folder, "traces", name))
	if err != nil {
		b.Skip(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		b.Fatal(err)
	}
	out, err := os.Create(filepath.Join(b.TempDir(), "recording.pickle"))
	if err != nil {
		b.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, z); err != nil {
		b.Fatal(err)
	}
	return out.Name()
}

// cpython returns the time that Python's own unpickler needs for a file.
func cpython(b *testing.B, path string) time.Duration {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("python3 is missing: nothing to compare with")
	}
	const program = `import pickle, sys, time
with open(sys.argv[1], "rb") as f:
    t = time.perf_counter()
    pickle.load(f)
    print(time.perf_counter() - t)`
	out, err := exec.Command(python, "-c", program, path).Output()
	if err != nil {
		b.Fatal(err)
	}
	s, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(s * float64(time.Second))
}

// BenchmarkReadAgainstCPython alternates between this package and CPython, so that both run under the same
// conditions, and prints the best time of each.
func BenchmarkReadAgainstCPython(b *testing.B) {
	path := plainRecording(b, longest)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	ours, theirs := time.Hour, time.Hour
	for range 5 {
		theirs = min(theirs, cpython(b, path))
		for range 2 {
			runtime.GC()
			start := time.Now()
			readFile(b, path)
			ours = min(ours, time.Since(start))
		}
	}
	for b.Loop() {
		readFile(b, path)
	}
	b.SetBytes(info.Size())
	b.Logf("snug %v, CPython %v: %.1f times as fast", ours.Round(time.Millisecond), theirs.Round(time.Millisecond), float64(theirs)/float64(ours))
	b.ReportMetric(float64(theirs)/float64(ours), "x-CPython")
	b.ReportMetric(peakRSS()/float64(info.Size()), "x-file-memory")
}

// BenchmarkReadStacks reads a recording with a stack for each entry.
func BenchmarkReadStacks(b *testing.B) {
	path := plainRecording(b, withStacks)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		readFile(b, path)
	}
}

func readFile(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if _, err := snapshot.Read(f); err != nil {
		b.Fatal(err)
	}
}

// peakRSS returns this process's peak memory in bytes; 0 if /proc does not report it.
func peakRSS() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(kb), "kB")), 64)
			return n * 1024
		}
	}
	return 0
}
