// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// loop is one iteration: its allocations, and when each is freed.
type loop struct {
	sizes []uint64
	fates []int
	back  []uint64 // sizes allocated in the reverse pass, all freed by the following iteration
	down  bool     // remaining allocations are freed starting with the last iteration
}

// When an iteration's allocations are freed.
const (
	withIteration = iota // in its own iteration
	withNext             // in the next one
	withThird            // in the one after that
	backAgain            // when the reverse pass reaches the same iteration
	backLater            // one iteration later in the reverse pass
	atEnd                // when the loop ends
	fateCount
)

// writer writes the events of a loop. If label is set, each event records its iteration.
type writer struct {
	t     *Trace
	label bool
	made  [][]uint32
	back  [][]uint32
}

// write returns the trace of a loop with n iterations, forward and then in reverse.
func (l loop) write(n int, label bool) *Trace {
	w := &writer{t: New(64), label: label, made: make([][]uint32, n), back: make([][]uint32, n)}
	frame := w.t.Alloc(1, 0)
	for i := range n {
		for _, size := range l.sizes {
			w.made[i] = append(w.made[i], w.alloc(size, i))
		}
		w.free(l, i, i, withIteration)
		w.free(l, i-1, i, withNext)
		w.free(l, i-2, i, withThird)
	}
	w.t.Add(Mark, 3, 0)
	for i := range n {
		if l.down {
			i = n - 1 - i
		}
		w.free(l, i, i, atEnd)
	}
	w.t.Free(frame)
	for i := n - 1; i >= 0; i-- {
		for _, size := range l.back {
			w.back[i] = append(w.back[i], w.alloc(size, i))
		}
		w.free(l, i, i, backAgain)
		w.free(l, i+1, i, backLater)
		if i+1 < n {
			for _, id := range w.back[i+1] {
				w.end(id, i)
			}
		}
	}
	return w.t
}

func (w *writer) alloc(size uint64, iteration int) uint32 {
	id := w.t.Alloc(size, 0)
	w.mark(iteration)
	return id
}

func (w *writer) end(id uint32, iteration int) {
	w.t.Free(id)
	w.mark(iteration)
}

func (w *writer) mark(iteration int) {
	if w.label {
		w.t.Events[len(w.t.Events)-1].Iteration = uint8(iteration + 1)
	}
}

// free frees, in one iteration (now), the allocations of another (made) that have the given fate.
func (w *writer) free(l loop, made, now, fate int) {
	if made < 0 || made >= len(w.made) {
		return
	}
	for i, id := range w.made[made] {
		if l.fates[i] == fate {
			w.end(id, now)
		}
	}
}

func drawLoop(t *rapid.T) loop {
	sizes := rapid.SliceOfN(rapid.Uint64Range(1, 4), 0, 4)
	l := loop{sizes: sizes.Draw(t, "sizes"), back: sizes.Draw(t, "back"), down: rapid.Bool().Draw(t, "down")}
	for range l.sizes {
		l.fates = append(l.fates, rapid.IntRange(0, fateCount-1).Draw(t, "fate"))
	}
	return l
}

// fold returns the loop folded to n iterations.
func (l loop) fold(t rapid.TB, n int) *Folded {
	t.Helper()
	f, ok := l.write(9, true).Folded(Fold{Middle: 5, Times: n - 8})
	if !ok {
		t.Fatal("refused")
	}
	return f
}

// TestUnfold checks that nine iterations unfold to any number.
func TestUnfold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLoop(t)
		n := rapid.IntRange(12, 60).Draw(t, "iterations")
		f := l.fold(t, n)
		folded := f.Trace
		got, old := f.Unfold()
		want := l.write(n, false)
		switch {
		case f.Len() != len(want.Events):
			t.Fatalf("%d events, want %d", f.Len(), len(want.Events))
		case !slices.Equal(got.Events, want.Events):
			t.Fatalf("got %v, want %v", got.Events, want.Events)
		case got.Allocations() != want.Allocations() || len(old) != int(want.Allocations()):
			t.Fatalf("%d allocations and %d origins, want %d", got.Allocations(), len(old), want.Allocations())
		}
		sizeOf := func(tr *Trace) (out []uint64) {
			for _, e := range tr.Events {
				if e.Kind == Alloc {
					out = append(out, e.Size)
				}
			}
			return out
		}
		was := sizeOf(folded)
		for id, size := range sizeOf(got) {
			if was[old[id]] != size {
				t.Fatalf("%d is mapped to %d, which has another size", id, old[id])
			}
		}
	})
}

// TestUnfoldCopies checks that a repeated stretch is also repeated in the unfolded trace.
func TestUnfoldCopies(t *testing.T) {
	l := loop{sizes: []uint64{1, 2, 3}, fates: []int{withIteration, backAgain, withNext}}
	write := func(n int, label bool) *Trace {
		tr := l.write(n, label)
		tr.Free(2 + uint32(3*(n-1)) + 1) // the last one freed in the next iteration
		if !tr.Repeat(0) {
			t.Fatal("the stretch cannot be repeated")
		}
		return tr
	}
	f, ok := write(9, true).Folded(Fold{Middle: 5, Times: 30})
	if !ok {
		t.Fatal("refused")
	}
	got, _ := f.Unfold()
	want := write(38, false)
	if !slices.Equal(got.Events, want.Events) || !slices.Equal(got.Copies, want.Copies) {
		t.Errorf("%d events, copies %v; want %d and %v", len(got.Events), got.Copies, len(want.Events), want.Copies)
	}
}

// TestUnfoldRefuses checks that iterations that differ are not unfolded.
func TestUnfoldRefuses(t *testing.T) {
	l := loop{sizes: []uint64{10, 20}, fates: []int{withNext, backAgain}}
	// at returns the nth event of the fifth iteration.
	at := func(tr *Trace, n int) *Event {
		return &tr.Events[slices.IndexFunc(tr.Events, func(e Event) bool { return e.Iteration == 5 })+n]
	}
	for name, spoil := range map[string]func(tr *Trace){
		"another size":              func(tr *Trace) { at(tr, 0).Size = 11 },
		"another CUDA stream":       func(tr *Trace) { at(tr, 0).Queue = 1 },
		"a wait for another stream": func(tr *Trace) { at(tr, 2).Kind = FreeRequested },
		"something older":           func(tr *Trace) { at(tr, 2).ID = 0 },
		"at another position":       func(tr *Trace) { at(tr, 2).ID++ },
		"from too far away":         func(tr *Trace) { at(tr, 2).ID -= 6 },
		"an event outside the loop": func(tr *Trace) { at(tr, 1).Iteration = 0 },
		"a missing iteration":       func(tr *Trace) { at(tr, 0).Iteration, at(tr, 0).Iteration, at(tr, 0).Iteration = 6, 6, 6 },
		"freed after the loop":      func(tr *Trace) { tr.Free(7) },
	} {
		tr := l.write(9, true)
		spoil(tr)
		if _, ok := tr.Folded(Fold{Middle: 5, Times: 30}); ok {
			t.Errorf("%s: unfolded", name)
		}
	}
	if _, ok := l.write(9, true).Folded(Fold{Middle: 5, Times: 30}); !ok {
		t.Error("the unchanged loop was refused")
	}
}

// TestLoops reads a folded trace loop by loop, and compares the result with the unfolded trace.
func TestLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawLoop(t).fold(t, rapid.IntRange(12, 60).Draw(t, "iterations"))
		want, old := f.Unfold()
		type owner struct {
			id   uint32
			copy int
		}
		now, got, loops := map[owner]uint32{}, New(0), f.Loops()
		event := func(i, copy int) {
			switch e := f.Trace.Events[i]; {
			case e.Kind == Alloc && !f.Copied(e.ID):
				now[owner{e.ID, -1}] = got.Alloc(e.Size, e.Queue)
			case e.Kind == Alloc:
				now[owner{e.ID, copy}] = got.Alloc(e.Size, e.Queue)
			case e.Kind == Free:
				id, which := f.Freed(i, copy)
				got.Free(now[owner{id, which}])
			default:
				got.Add(e.Kind, e.ID, e.Queue)
			}
		}
		for i := 0; i < len(f.Trace.Events); i++ {
			if f.At(i) != len(got.Events) {
				t.Fatalf("event %d is at %d, want %d", i, f.At(i), len(got.Events))
			}
			if len(loops) == 0 || i < loops[0].From {
				event(i, 0)
				continue
			}
			l := loops[0]
			loops = loops[1:]
			if l.At != len(got.Events) {
				t.Fatalf("a loop is at %d, want %d", l.At, len(got.Events))
			}
			for k := range l.Times {
				for j := l.From; j < l.To; j++ {
					event(j, l.Copy(k))
				}
			}
			i = l.To - 1
		}
		if !slices.Equal(got.Events, want.Events) {
			t.Fatalf("got %v, want %v", got.Events, want.Events)
		}
		at := rapid.IntRange(0, len(want.Events)-1).Draw(t, "at")
		count := make([]int, f.Trace.Allocations())
		for _, e := range want.Events[:at+1] {
			switch e.Kind {
			case Alloc:
				count[old[e.ID]]++
			case Free:
				count[old[e.ID]]--
			}
		}
		if got := f.Alive(at); !slices.Equal(got, count) {
			t.Fatalf("after event %d, %v are alive, want %v", at, got, count)
		}
	})
}
