// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snug/internal/allocator"
	"snug/internal/stream"
)

var torch211 = allocator.Version{Major: 2, Minor: 11}

// TestIsTheAllocator compares the play of folded loops with package allocator, which plays every
// iteration: peaks, phases, retries and the timeline of a step.
func TestIsTheAllocator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawModel(t).fold(t, rapid.IntRange(12, 1500).Draw(t, "iterations"))
		p := newPlayer(t, f)
		if rapid.Bool().Draw(t, "cut") { // exercises all rules for large segments
			p.cutLeast, p.voidLeast = rapid.Uint64Range(1, 200_000).Draw(t, "cutLeast"), rapid.Uint64Range(1, 60_000).Draw(t, "voidLeast")
		}
		free := compare(t, p, 0, rapid.IntRange(1, 50).Draw(t, "columns"))
		for _, share := range rapid.SliceOfN(rapid.Uint64Range(50, 105), 0, 2).Draw(t, "limits") {
			compare(t, p, free.PeakReserved*share/100, 7)
		}
	})
}

// outcome is the result of a play.
type outcome struct {
	allocator.Result
	Phases            []uint64
	Requested         uint64
	Retries           uint64
	Allocated, Column []uint64
}

// compare plays a stream with this package and with package allocator.
func compare(t rapid.TB, p *Player, limit uint64, columns int) allocator.Result {
	t.Helper()
	f := p.stream
	from, to := f.Len()/5, f.Len()
	since := len(f.Trace.Events) / 2
	for since > 0 && f.Trace.Events[since].Kind != stream.Mark {
		since--
	}
	got, want := playFolded(t, p, limit, newChart(from, to, columns), since), playWhole(t, f, limit, newChart(from, to, columns), since)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("limit %d (-allocator +loops):\n%s", limit, diff)
	}
	return got.Result
}

func newChart(from, to, columns int) *Chart {
	return &Chart{From: from, To: to, Allocated: make([]uint64, columns), Reserved: make([]uint64, columns)}
}

const card = 1 << 50

func newDriver() *allocator.Driver { return allocator.NewDriver(card, 0) }

func newPlayer(t rapid.TB, f *stream.Folded) *Player {
	t.Helper()
	p, err := New(torch211, f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func playFolded(t rapid.TB, p *Player, limit uint64, chart *Chart, since int) (out outcome) {
	out.Phases = make([]uint64, 4)
	var err error
	if out.Result, err = p.Play(newDriver(), Options{Limit: limit, Phases: out.Phases, Chart: chart, Since: since}); err != nil {
		t.Fatal(err)
	}
	if err := p.check(); err != nil {
		t.Fatal(err)
	}
	out.Requested, out.Retries, out.Allocated, out.Column = p.PeakRequested(), p.Retries(), chart.Allocated, chart.Reserved
	return out
}

func playWhole(t rapid.TB, f *stream.Folded, limit uint64, chart *Chart, since int) (out outcome) {
	whole, _ := f.Unfold()
	a, err := allocator.New(newDriver(), torch211, allocator.Options{})
	if err == nil && limit > 0 {
		err = a.SetMemoryFraction(float64(limit) / card)
	}
	if err != nil {
		t.Fatal(err)
	}
	var before uint64
	counts := false
	out.Phases = make([]uint64, 4)
	out.Result, err = a.Play(whole, allocator.PlayOptions{Phases: out.Phases, Observe: func(i int) {
		if i == f.At(since) {
			before, counts = a.Stats().AllocRetries, true
		}
		chart.Note(i, a.Allocated(), a.Reserved())
	}})
	if err != nil {
		t.Fatal(err)
	}
	stats := a.Stats()
	out.Requested, out.Allocated, out.Column = stats.RequestedBytes.All.Peak, chart.Allocated, chart.Reserved
	if counts {
		out.Retries = stats.AllocRetries - before
	}
	return out
}

// TestPassesCopies checks that a repeated step is skipped if it starts in the same state.
func TestPassesCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		m.steps = 3
		f := m.fold(t, rapid.IntRange(12, 300).Draw(t, "iterations"))
		if len(f.Trace.Copies) == 0 {
			t.Skip("a step leaves memory allocated")
		}
		whole, _ := f.Unfold()
		a, err := allocator.New(newDriver(), torch211, allocator.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := a.Play(whole, allocator.PlayOptions{PassCopies: true})
		if err != nil {
			t.Fatal(err)
		}
		p := newPlayer(t, f)
		got, err := p.Play(newDriver(), Options{PassCopies: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-allocator +loops):\n%s", diff)
		}
	})
}

// TestPassesOver checks that only a few iterations of a long loop are played. If more were played, the result
// would be the same, but a thousand times slower.
func TestPassesOver(t *testing.T) {
	m := model{layers: []layer{{
		ahead: []made{{98304, 0, local}, {98304, 0, back}, {6144, 0, atEnd}},
		back:  []made{{6144, 0, local}, {98304, 0, next}, {98304, 0, local}},
	}}, steps: 2}
	f := m.fold(t, 100_000)
	p := newPlayer(t, f)
	if _, err := p.Play(newDriver(), Options{}); err != nil {
		t.Fatal(err)
	}
	if most := f.Len() / 15; p.played > most {
		t.Errorf("%d of %d events were played, want at most %d", p.played, f.Len(), most)
	}
	compare(t, newPlayer(t, m.fold(t, 5000)), 0, 9)
}

func TestSuits(t *testing.T) {
	for conf, want := range map[string]bool{"": true, "expandable_segments:True": false, "max_split_size_mb:128": false} {
		o, err := allocator.ParseOptions(conf, torch211)
		if err != nil {
			t.Fatal(err)
		}
		if got := Suits(torch211, o); got != want {
			t.Errorf("%q: %v", conf, got)
		}
	}
	if Suits(allocator.Version{Major: 2, Minor: 12}, allocator.Options{}) {
		t.Error("2.12, which breaks ties differently, is supported")
	}
}
