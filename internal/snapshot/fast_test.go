// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"snug/internal/stream"
)

// readSlowly reads a snapshot opcode by opcode.
func readSlowly(file []byte) (*machine, value, error) {
	w, err := newWindow(bytes.NewReader(file))
	if err != nil {
		return nil, value{}, err
	}
	m := newMachine(w)
	m.fill(1)
	if len(m.buf) > 0 && !bytes.Contains(firstOpcodes, m.buf[:1]) {
		return m, value{}, m.fail("not a pickle")
	}
	for {
		if len(m.buf)-m.pos < ahead {
			m.fill(windowSize / 2)
		}
		if m.pos == len(m.buf) {
			return m, value{}, m.short()
		}
		op := m.buf[m.pos]
		m.pos++
		if op == opStop {
			root, err := m.pop()
			return m, root, err
		}
		if err := m.step(op); err != nil {
			return m, value{}, err
		}
	}
}

// bothWays reads a file the fast way and the slow way, with extra bytes at the end for the fast path to look at.
func bothWays(t *testing.T, file []byte) (fast, slow *machine) {
	t.Helper()
	file = append(bytes.Clone(file), make([]byte, 2*ahead)...)
	fast, fastRoot, err := read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	slow, slowRoot, err := readSlowly(file)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := fast.recording(fastRoot)
	b, errB := slow.recording(slowRoot)
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
	sameRecording(t, b, a)
	return fast, slow
}

// sameRecording compares the results of two ways of reading. The numbers of texts and stacks may differ, but not
// their contents.
func sameRecording(t *testing.T, slow, fast *Recording) {
	t.Helper()
	opts := cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.AllowUnexported(stream.Trace{}),
		cmpopts.IgnoreFields(Recording{}, "Texts", "Stacks", "Frames"),
		cmpopts.IgnoreFields(Device{}, "Metadata", "Stacks"),
		cmpopts.IgnoreFields(SegmentEvent{}, "Stack"),
		cmpopts.IgnoreFields(OOM{}, "Stack"),
		cmpopts.IgnoreFields(Block{}, "Stack"),
	}
	if diff := cmp.Diff(slow, fast, opts); diff != "" {
		t.Errorf("the fast path differs (-slow +fast):\n%s", diff)
	}
	if diff := cmp.Diff(contexts(slow), contexts(fast), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("stacks or texts of the fast path differ (-slow +fast):\n%s", diff)
	}
}

// contexts lists the stack of each event, segment event and OOM, and the texts.
func contexts(rec *Recording) (out []string) {
	stacks := make([]string, len(rec.Stacks))
	for id, frames := range rec.Stacks {
		for _, f := range frames {
			stacks[id] += fmt.Sprintf("%v; ", rec.Frames[f])
		}
	}
	for _, d := range rec.Devices {
		for _, id := range d.Stacks {
			out = append(out, stacks[id])
		}
		for _, e := range d.SegmentEvents {
			out = append(out, stacks[e.Stack])
		}
		for _, e := range d.OOMs {
			out = append(out, stacks[e.Stack])
		}
		for _, id := range d.Metadata {
			out = append(out, rec.Texts[id])
		}
	}
	return out
}

// snapshotWith returns a valid snapshot of allocations with additional fields.
func snapshotWith(extra ...any) d {
	trace := l{at("segment_alloc", base, 20*mib)}
	for i := range 3000 {
		e := at("alloc", base+uint64(i)*512, 512)
		if len(extra) > 0 {
			e = append(e, "frames", extra[i%len(extra)])
		}
		if i%3 == 0 {
			e = append(e, "pool_id", tup{0, 0})
		}
		trace = append(trace, e)
	}
	return snapshotOf(l{segmentOf(0, base, 20, false, 3000*512, "active_allocated", 20*mib-3000*512, "inactive")}, trace)
}

// frameOf returns a frame that is pickled only once.
func frameOf(name string, line int) *shared {
	return &shared{d{"name", name, "filename", "train.py", "line", line}}
}

func TestFastPathAgrees(t *testing.T) {
	forward, main, module := frameOf("forward", 3), frameOf("main", 9), frameOf("<module>", 20)
	deep := l{}
	for range 900 { // more bytes than the fast path looks at
		deep = append(deep, forward)
	}
	list := &shared{l{forward, main}}
	tests := map[string]struct {
		frames []any
		share  int // minimum percentage of entries read by the fast path
	}{
		"no stacks":        {nil, 90},
		"stacks":           {[]any{l{forward, main, module}, l{main, module}}, 90},
		"a frame alone":    {[]any{l{module}, l{main, module}}, 90},
		"no frames":        {[]any{l{}, l{main, module}}, 90},
		"the same list":    {[]any{list, list, l{main, module}}, 90},
		"frames in place":  {[]any{l{d{"name", "f", "filename", "a.py", "line", 1}}, l{main, module}}, 45},
		"deep":             {[]any{deep, l{main, module}}, 45},
		"not frames":       {[]any{l{forward, main}, nil}, 0},
		"texts for frames": {[]any{l{}, l{"a", "b"}}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := pickled(snapshotWith(tt.frames...), false)
			if tt.share == 0 {
				wantSameError(t, file)
				return
			}
			fast, slow := bothWays(t, file)
			if n := len(slow.dicts) - len(fast.dicts); n < 3000*tt.share/100 {
				t.Errorf("the fast path read %d of 3000 entries, want %d %%", n, tt.share)
			}
		})
	}
}

// TestFastPathAgreesOnRecordings reads PyTorch's own files: one in five recordings, or all of them with
// SNUG_TEST_ALL=1.
func TestFastPathAgreesOnRecordings(t *testing.T) {
	paths, _ := filepath.Glob("../../testdata/measured/traces/*-stacks.pickle.gz")
	if len(paths) == 0 {
		t.Fatal("there are no recordings with stacks")
	}
	for i, path := range paths {
		if i%5 > 0 && os.Getenv("SNUG_TEST_ALL") != "1" {
			continue
		}
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		file, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		fast, slow := bothWays(t, file)
		if n := slow.entries.n; len(slow.dicts)-len(fast.dicts) < n*9/10 {
			t.Errorf("%s: the fast path read %d of %d entries", filepath.Base(path), len(slow.dicts)-len(fast.dicts), n)
		}
	}
}

// wantSameError checks that both ways refuse a file with the same message.
func wantSameError(t *testing.T, file []byte) {
	t.Helper()
	_, _, fast := read(bytes.NewReader(file))
	_, _, slow := readSlowly(file)
	if fast == nil || slow == nil || fast.Error() != slow.Error() {
		t.Errorf("the fast path returns %v, the machine %v", fast, slow)
	}
}

// A memo name that is redefined has its new meaning in later stacks as well.
func TestFrameRenamed(t *testing.T) {
	main, other := frameOf("main", 9), frameOf("other", 10)
	before, after := l{main, main}, l{main, main}
	file := pickled(snapshotOf(
		l{segmentOf(0, base, 2, true, 2*mib, "inactive")},
		l{
			append(at("segment_alloc", base, 2*mib), "frames", l{main, other}),
			append(at("alloc", base, 8), "frames", before),
			append(at("free_requested", base, 8), "frames", l{rename{main, other}, other}),
			append(at("free_completed", base, 8), "frames", after),
			append(at("alloc", base, 8), "frames", after),
		},
	), false)
	fast, _ := bothWays(t, file)
	if got := len(fast.stacks.stacks); got != 4 { // [], [main other], [main main] and [other other]
		t.Errorf("%d stacks, want 4", got)
	}
}

// A frame that gets items again is a different frame in later lists.
func TestFrameGivenItemsTwice(t *testing.T) {
	main := frameOf("main", 9)
	again := l{main, []byte{opMark}, "filename", "other.py", "name", "f", []byte{opSetItems}}
	trace := l{
		append(at("segment_alloc", base, 2*mib), "frames", l{main}),
		append(at("alloc", base, 8), "frames", l{main, main}),
		append(at("free_requested", base, 8), "frames", again),
		append(at("free_completed", base, 8), "frames", l{main, main}),
		append(at("alloc", base, 8), "frames", l{main, main}),
	}
	fast, _ := bothWays(t, pickled(snapshotOf(l{segmentOf(0, base, 2, true, 2*mib, "inactive")}, trace), false))
	if got := len(fast.stacks.stacks); got != 5 { // [], [main], [main main], [other] and [other other]
		t.Errorf("%d stacks, want 5", got)
	}
}

// TestFilledLater adds a frame to a stack that has already been read.
func TestFilledLater(t *testing.T) {
	main := frameOf("main", 9)
	list := &shared{l{main, main}}
	file := pickled(snapshotOf(
		l{segmentOf(0, base, 2, true, 2*mib, "inactive")},
		l{
			append(at("segment_alloc", base, 2*mib), "frames", l{main}),
			append(at("alloc", base, 8), "frames", list),
			l{list, main, []byte{opAppend}},
		},
	), false)
	_, err := Read(bytes.NewReader(append(file, make([]byte, 2*ahead)...)))
	if err == nil || !strings.Contains(err.Error(), "items are added to a stack") {
		t.Errorf("got %v", err)
	}
}

// FuzzFast checks that the fast path finds what the machine finds.
func FuzzFast(f *testing.F) {
	main, module := frameOf("main", 9), frameOf("<module>", 20)
	stacks := []any{l{main, module}, l{module}, l{}, l{main, module, main}}
	trace := l{}
	for i, a := range []string{"segment_alloc", "alloc", "free_requested", "free_completed"} {
		trace = append(trace, append(at(a, base, 2*mib), "frames", stacks[i]))
	}
	f.Add(pickled(snapshotOf(l{segmentOf(0, base, 2, true, 2*mib, "inactive")}, append(trace, trace[1:]...)), false))
	f.Add(pickled(twoAllocs(), false))
	f.Add(pickled(twoAllocs(), true))
	f.Fuzz(func(t *testing.T, file []byte) {
		if bytes.HasPrefix(file, []byte("\x1f\x8b")) {
			return
		}
		file = append(bytes.Clone(file), make([]byte, 2*ahead)...)
		m, root, fastErr := read(bytes.NewReader(file))
		s, slowRoot, slowErr := readSlowly(file)
		if fastErr != nil && strings.Contains(fastErr.Error(), "items are added to") {
			return // entries from the fast path cannot be extended
		}
		if (fastErr == nil) != (slowErr == nil) {
			t.Fatalf("the fast path returns %v, the machine %v", fastErr, slowErr)
		}
		if fastErr != nil {
			return
		}
		fast, fastErr := m.recording(root)
		slow, slowErr := s.recording(slowRoot)
		if (fastErr == nil) != (slowErr == nil) {
			t.Fatalf("the fast path's entries: %v, the machine's: %v", fastErr, slowErr)
		}
		if fastErr == nil {
			sameRecording(t, slow, fast)
		}
	})
}
