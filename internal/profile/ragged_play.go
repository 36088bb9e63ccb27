// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"snug/internal/allocator"
	"snug/internal/stream"
)

// usualSteps is the number of steps of a ragged run that are played. Each step leaves holes in different places, and
// a longer batch may still come; later steps rarely need more memory.
const usualSteps = 40

// seeds is the number of runs drawn. The run with the median peak is the answer.
const seeds = 9

// drawn is a run of ragged steps at a size: the quantities in each step.
type drawn [][]int64

// runAt draws a run.
func (p *Program) runAt(values []int64, seed uint64, steps int) drawn {
	if p.ragged.given != nil {
		return p.ragged.asGiven()
	}
	random := rand.New(rand.NewPCG(seed, 0x736e7567))
	samples := p.ragged.samples(values)
	if p.ragged.data.Order && seed == 0 {
		return p.ragged.inOrder(random, samples, steps)
	}
	out := make(drawn, steps)
	for i := range out {
		out[i] = p.ragged.draw(random, samples)
	}
	return out
}

// samples returns the number of samples in a step.
func (rg *ragged) samples(values []int64) int64 {
	if b := rg.data.Batch; b >= 0 {
		return values[b]
	}
	return 1
}

// asGiven returns the run with the lengths given by the user.
func (rg *ragged) asGiven() drawn {
	out := make(drawn, len(rg.given))
	for i, n := range rg.given {
		for _, q := range rg.quantities {
			out[i] = append(out[i], q.of(n))
		}
	}
	return out
}

// raggedTrace returns the stream of a drawn run: the recorded steps with the drawn sizes, then repetitions of the
// last recorded step.
func (p *Program) raggedTrace(v *variant, values []int64, run drawn, at Point) (*stream.Trace, error) {
	w := &raggedWriter{p: p, v: v, at: values, index: slices.IndexFunc(p.variants, func(x variant) bool { return slices.Equal(x.at, v.at) })}
	w.trace = stream.New(len(v.events) * max(1, len(run)/max(1, len(p.ragged.steps[w.index]))))
	w.trace.Queues = v.queues
	w.trace.Reserve(v.before)
	w.ids = make([]uint32, v.made)
	for id := range v.before {
		w.ids[id] = id + 1
	}
	if err := w.write(run); err != nil {
		return nil, fmt.Errorf("%s would need %w", at, err)
	}
	return w.trace, nil
}

// raggedWriter writes a run of ragged steps.
type raggedWriter struct {
	p     *Program
	v     *variant
	at    []int64
	index int
	trace *stream.Trace
	ids   []uint32 // by allocation of the variant: its ID in the trace plus 1; 0 if not allocated
	sizes []uint64 // by formula, in the current step
}

func (w *raggedWriter) write(run drawn) error {
	steps := w.p.ragged.steps[w.index]
	begin := 0
	for s := range steps {
		if s == len(run) {
			return nil
		}
		end := len(w.v.events)
		if s+1 < len(steps) {
			end = steps[s+1].begin
		}
		if err := w.evaluate(run[s]); err != nil {
			return err
		}
		for i := begin; i < end; i++ {
			w.event(&w.v.events[i])
		}
		begin = end
	}
	if len(run) > len(steps) {
		return w.again(steps[len(steps)-1].begin, run[len(steps):])
	}
	return nil
}

// evaluate computes w.sizes for a step.
func (w *raggedWriter) evaluate(step []int64) (err error) {
	values := slices.Concat(w.at, step)
	monos := w.p.at(values)
	on := w.p.rules()
	w.sizes = make([]uint64, len(w.p.formulas))
	for i := range w.p.formulas {
		if w.sizes[i], err = w.p.formulas[i].bytes(on, monos, values, none); err != nil {
			return err
		}
	}
	return nil
}

func (w *raggedWriter) event(e *event) {
	switch {
	case e.kind == stream.Alloc:
		if size := w.sizes[e.formula]; size > 0 {
			w.ids[e.id] = w.trace.Alloc(size, e.queue) + 1
		}
	case e.kind == stream.EmptyCache || e.kind == stream.Mark:
		w.trace.Add(e.kind, e.id, e.queue)
	case w.ids[e.id] > 0:
		w.trace.Add(e.kind, w.ids[e.id]-1, e.queue)
	}
}

// again repeats the last step, once for each step in run. Where the last step frees allocations from the step before
// it, a repetition frees their counterparts; whatever else remains of the previous step is freed too.
func (w *raggedWriter) again(begin int, run drawn) error {
	events := w.v.events[begin:]
	first, count := lastStep(w.v, begin)
	before := make([]uint32, count) // allocations of the previous step: IDs in the trace plus 1
	for i := range before {
		before[i] = w.ids[first+uint32(i)]
	}
	for _, e := range events {
		if e.kind != stream.Alloc && e.kind != stream.Mark && e.kind != stream.EmptyCache && e.id >= first {
			before[e.id-first] = 0
		}
	}
	for _, step := range run {
		if err := w.evaluate(step); err != nil {
			return err
		}
		before = w.repeat(events, first, before)
	}
	return nil
}

// lastStep returns the first allocation of the step that starts at event begin and ends with the variant, and the
// number of allocations in that step.
func lastStep(v *variant, begin int) (first uint32, count int) {
	first = v.made
	for _, e := range v.events[begin:] {
		if e.kind == stream.Alloc {
			first = min(first, e.id)
			count++
		}
	}
	return first, count
}

func (w *raggedWriter) repeat(events []event, first uint32, before []uint32) []uint32 {
	now := make([]uint32, len(before))
	carried := w.p.ragged.carried[w.index]
	for i := range events {
		e := &events[i]
		switch {
		case e.kind == stream.Alloc:
			if size := w.sizes[e.formula]; size > 0 {
				now[e.id-first] = w.trace.Alloc(size, e.queue) + 1
			}
		case e.kind == stream.Mark || e.kind == stream.EmptyCache:
			w.trace.Add(e.kind, e.id, e.queue)
		case e.id >= first:
			w.free(e, now, int(e.id-first))
		default:
			if j, ok := carried[e.id]; ok {
				w.free(e, before, j)
			}
		}
	}
	for _, id := range before {
		if id > 0 {
			w.trace.Free(id - 1)
		}
	}
	return now
}

// free frees one allocation of a step, once.
func (w *raggedWriter) free(e *event, ids []uint32, j int) {
	if ids[j] == 0 {
		return
	}
	w.trace.Add(e.kind, ids[j]-1, e.queue)
	if e.kind != stream.FreeRequested {
		ids[j] = 0
	}
}

// peaksOf returns the peaks of a drawn run.
func (p *Program) peaksOf(values []int64, run drawn, at Point, kept uint64) (*Prediction, error) {
	v := p.nearest(values)
	trace, err := p.raggedTrace(v, values, run, at)
	if err != nil {
		return nil, err
	}
	return p.play(v, trace, at, kept)
}

// play plays a stream and returns its peaks.
func (p *Program) play(v *variant, trace *stream.Trace, at Point, kept uint64) (*Prediction, error) {
	a, err := allocator.New(allocator.NewDriver(endless, 0), p.Torch, p.Options)
	if err != nil {
		return nil, err
	}
	if err := a.Restore(v.start); err != nil {
		return nil, err
	}
	if kept > 0 {
		if _, err := a.Alloc(kept, 0); err != nil {
			return nil, err
		}
	}
	played, err := a.Play(trace, allocator.PlayOptions{})
	if err != nil {
		return nil, err
	}
	return &Prediction{At: at, PeakAllocated: played.PeakAllocated, PeakReserved: played.PeakReserved}, nil
}

// raggedPredict draws several runs and returns the peaks of the run with the median peak, and which run that is.
func (p *Program) raggedPredict(values []int64, at Point, kept uint64) (*Prediction, drawnRun, error) {
	type outcome struct {
		*Prediction
		seed uint64
	}
	if p.ragged.given != nil {
		got, err := p.peaksOf(values, p.ragged.asGiven(), at, kept)
		return got, drawnRun{}, err
	}
	if only := p.ragged.only; only != nil {
		got, err := p.peaksOf(values, p.runAt(values, only.seed, only.steps), at, kept)
		return got, *only, err
	}
	var all []outcome
	count := uint64(seeds)
	if p.ragged.data.Order {
		count = 1 // the order is known, so all runs are the same
	}
	for seed := range count {
		got, err := p.peaksOf(values, p.runAt(values, seed, usualSteps), at, kept)
		if err != nil {
			return nil, drawnRun{}, err
		}
		all = append(all, outcome{got, seed})
	}
	slices.SortFunc(all, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(a.PeakReserved, b.PeakReserved), cmp.Compare(a.PeakAllocated, b.PeakAllocated), cmp.Compare(a.seed, b.seed))
	})
	m := all[len(all)/2]
	return m.Prediction, drawnRun{m.seed, usualSteps}, nil
}

// raggedRun returns the stream of the run with the median peak.
func (p *Program) raggedRun(values []int64, at Point) (*Run, error) {
	_, run, err := p.raggedPredict(values, at, 0)
	if err != nil {
		return nil, err
	}
	v := p.nearest(values)
	trace, err := p.raggedTrace(v, values, p.runAt(values, run.seed, run.steps), at)
	if err != nil {
		return nil, err
	}
	return &Run{Trace: trace, Start: v.start}, nil
}

// requestedOf implements Requested for a stream.
func requestedOf(v *variant, trace *stream.Trace) uint64 {
	held := make([]uint64, trace.Allocations())
	now := v.begun(held)
	most := now
	for i := range trace.Events {
		switch e := &trace.Events[i]; e.Kind {
		case stream.Alloc:
			held[e.ID] = (e.Size + quantum - 1) &^ (quantum - 1)
			now += held[e.ID]
			most = max(most, now)
		case stream.Free, stream.FreeRequested:
			now -= held[e.ID]
			held[e.ID] = 0
		}
	}
	return most
}
