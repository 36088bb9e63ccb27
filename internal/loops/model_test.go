// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"pgregory.net/rapid"

	"snug/internal/stream"
)

// model is a training step with a loop in each layer, forward and backward.
type model struct {
	layers []layer
	steps  int
	keeps  bool // a step leaves memory allocated
}

// layer describes a layer's allocations: around its loops, and in each iteration.
type layer struct {
	before []uint64 // allocated before the loop, freed in backward
	ahead  []made
	back   []made
	within []uint64 // allocated and freed between the loops
	flush  bool     // the cache is emptied after the layer
}

// made is an allocation made in each iteration.
type made struct {
	bytes uint64
	queue uint16
	goes  fate
}

type fate int

const (
	local fate = iota // freed in its own iteration
	next              // in the next iteration
	third             // in the iteration after that
	atEnd             // after the loop, in iteration order
	back              // in the matching iteration of the backward loop
	later             // in the iteration before that
)

// drawModel draws a model whose sizes produce blocks of equal size.
func drawModel(t *rapid.T) *model {
	size := rapid.OneOf(
		rapid.SampledFrom([]uint64{64, 512, 1024, 6144, 65536, 98304, 200 << 10, 1 << 20, 3 << 19, 3 << 20, 11 << 20, 50 << 20}),
		rapid.Uint64Range(1, 8000), rapid.Uint64Range(1, 1<<20), rapid.Uint64Range(1<<20, 30<<20),
	)
	// Few distinct sizes produce ties, and freed large blocks produce segments that iterations fill.
	sizes := rapid.SampledFrom(rapid.SliceOfN(size, 1, 5).Draw(t, "sizes"))
	large := rapid.OneOf(size, rapid.Uint64Range(30<<20, 900<<20))
	queue := rapid.SampledFrom([]uint16{0, 0, 0, 0, 0, 0, 1})
	iteration := func(goes *rapid.Generator[fate], label string) (out []made) {
		for range rapid.IntRange(0, 5).Draw(t, label) {
			out = append(out, made{sizes.Draw(t, "size"), queue.Draw(t, "queue"), goes.Draw(t, "goes")})
		}
		return out
	}
	m := &model{steps: rapid.IntRange(1, 2).Draw(t, "steps"), keeps: rapid.Bool().Draw(t, "keeps")}
	for range rapid.IntRange(1, 4).Draw(t, "layers") {
		l := layer{
			before: rapid.SliceOfN(large, 0, 3).Draw(t, "before"),
			ahead:  iteration(rapid.SampledFrom([]fate{local, local, next, third, atEnd, back, back, later}), "ahead"),
			back:   iteration(rapid.SampledFrom([]fate{local, local, next, third}), "back"),
			within: rapid.SliceOfN(large, 0, 3).Draw(t, "within"),
			flush:  rapid.IntRange(0, 9).Draw(t, "flush") == 0,
		}
		m.layers = append(m.layers, l)
		if rapid.Bool().Draw(t, "again") { // layers are often equal
			m.layers = append(m.layers, l)
		}
	}
	return m
}

// simulatedIterations is the number of iterations in the trace that fold writes.
const simulatedIterations = 9

// fold writes the model and folds its loops to the given number of iterations.
func (m *model) fold(t rapid.TB, iterations int) *stream.Folded {
	t.Helper()
	f, ok := m.write().Folded(stream.Fold{Middle: 5, Times: iterations - simulatedIterations + 1})
	if !ok {
		t.Fatal("the iterations are not alike")
	}
	return f
}

// writer writes a trace.
type writer struct {
	*stream.Trace
	iteration uint8
}

// write returns the trace of all steps.
func (m *model) write() *stream.Trace {
	w := &writer{Trace: stream.New(1024)}
	w.Queue(7)
	w.Add(stream.Mark, 0, 0)
	w.take(5000, 0)
	for range m.steps {
		from := len(w.Events)
		m.step(w)
		if !m.keeps {
			w.Repeat(from)
		}
	}
	return w.Trace
}

func (w *writer) take(bytes uint64, queue uint16) uint32 {
	id := w.Alloc(bytes, queue)
	w.label()
	return id
}

func (w *writer) give(id uint32) {
	w.Free(id)
	w.label()
}

func (w *writer) label() { w.Events[len(w.Events)-1].Iteration = w.iteration }

// step writes one step: all layers forward, then all backward.
func (m *model) step(w *writer) {
	w.Add(stream.Mark, 1, 0)
	states := make([]layerState, len(m.layers))
	for i := range m.layers {
		states[i] = m.layers[i].goAhead(w)
	}
	w.Add(stream.Mark, 2, 0)
	if m.keeps {
		w.take(777, 0)
	}
	for i := len(m.layers) - 1; i >= 0; i-- {
		m.layers[i].goBack(w, states[i])
	}
	w.Add(stream.Mark, 3, 0)
	w.give(w.take(123456, 0))
}

// layerState holds the allocations of a layer.
type layerState struct {
	before     []uint32
	iterations [simulatedIterations][]uint32
}

func (l *layer) goAhead(w *writer) (s layerState) {
	for _, n := range l.before {
		s.before = append(s.before, w.take(n, 0))
	}
	for i := range simulatedIterations {
		w.iteration = uint8(i + 1)
		s.iterations[i] = w.makes(l.ahead)
		w.gives(l.ahead, s.iterations[:], i, local, next, third)
	}
	w.iteration = 0
	for _, n := range l.within {
		w.give(w.take(n, 0))
	}
	for i := range simulatedIterations {
		w.iteration = uint8(i + 1)
		w.giveAll(l.ahead, s.iterations[i], atEnd)
	}
	w.iteration = 0
	if l.flush {
		w.Add(stream.EmptyCache, 0, 0)
	}
	return s
}

func (l *layer) goBack(w *writer, s layerState) {
	var iterations [simulatedIterations][]uint32
	for _, n := range l.within {
		w.give(w.take(n, 0))
	}
	for k := range simulatedIterations {
		i := simulatedIterations - 1 - k
		w.iteration = uint8(i + 1)
		iterations[k] = w.makes(l.back)
		w.giveAll(l.ahead, s.iterations[i], back)
		if i+1 < simulatedIterations {
			w.giveAll(l.ahead, s.iterations[i+1], later)
		}
		w.gives(l.back, iterations[:], k, local, next, third)
	}
	// The remaining allocations of the last iterations are freed after the loop, but marked as part of those
	// iterations.
	w.iteration = simulatedIterations
	w.giveAll(l.ahead, s.iterations[simulatedIterations-1], next)
	w.giveAll(l.ahead, s.iterations[simulatedIterations-1], third)
	w.iteration = simulatedIterations - 1
	w.giveAll(l.ahead, s.iterations[simulatedIterations-2], third)
	w.iteration = 1
	w.giveAll(l.ahead, s.iterations[0], later)
	w.giveAll(l.back, iterations[simulatedIterations-1], next)
	w.giveAll(l.back, iterations[simulatedIterations-1], third)
	w.iteration = 2
	w.giveAll(l.back, iterations[simulatedIterations-2], third)
	w.iteration = 0
	for _, id := range s.before {
		w.give(id)
	}
}

func (w *writer) makes(all []made) (ids []uint32) {
	for _, x := range all {
		ids = append(ids, w.take(x.bytes, x.queue))
	}
	return ids
}

// gives frees the allocations that are due in an iteration: its own, and those of the two iterations before it.
func (w *writer) gives(all []made, iterations [][]uint32, i int, goes ...fate) {
	for back, f := range goes {
		if i-back >= 0 {
			w.giveAll(all, iterations[i-back], f)
		}
	}
}

func (w *writer) giveAll(all []made, ids []uint32, goes fate) {
	for k, x := range all {
		if x.goes == goes {
			w.give(ids[k])
		}
	}
}
