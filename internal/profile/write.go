// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"snug/internal/replay"
	"snug/internal/snapshot"
	"snug/internal/stream"
)

// writer converts one recording to a variant: its events, with formulas for sizes.
type writer struct {
	f      *fitter
	ragged *raggedFitter // set if steps differ
	k      int           // index of the recording
	events []stream.Event
	stacks []uint32   // by event; nil if the recording has none
	base   []*formula // by allocation; nil for those before the first event
	found  finds
	convs  []seenConv // nil until needed

	element int64 // element size of gradients, as found in linear layers; 0 if unknown
	casts   bool  // gradients are cast to twice the size before they are kept
	out     []event
	made    uint32
}

func (f *fitter) write(k int) {
	d := f.devices[k]
	w := &writer{
		f: f, k: k, events: d.Trace.Events, stacks: d.Stacks, made: d.Trace.Allocations(),
		base: make([]*formula, d.Trace.Allocations()),
		out:  make([]event, 0, len(d.Trace.Events)),
	}
	w.solve(d)
	w.convolutions(f.inputs[k].Recording, d)
	for i := range w.events {
		w.sumAt(i) // to find the element size, which the first sums need
	}
	for i := range w.events {
		w.add(i)
	}
	v := variant{
		at: f.points[k], queues: d.Trace.Queues, start: replay.Start(d),
		events: w.out, made: w.made, before: d.Trace.Initial,
	}
	v.inOrder()
	f.program.variants = append(f.program.variants, v)
}

// solve finds a formula for every allocation from its sizes alone. An allocation that only this recording has gets
// the formula of others with its size.
func (w *writer) solve(d *snapshot.Device) {
	var alone []uint32
	votes := map[uint64]*tally{}
	for id := d.Trace.Initial; id < d.Trace.Allocations(); id++ {
		obs := w.f.observations(w.k, id)
		if len(obs) == 1 {
			alone = append(alone, id)
			continue
		}
		w.base[id] = w.f.solver.formula(obs)
		if w.base[id].certainty == Exact {
			size := w.f.lives[w.k][id].size
			if votes[size] == nil {
				votes[size] = &tally{votes: map[*formula]int{}}
			}
			votes[size].add(w.base[id])
		}
	}
	for _, id := range alone {
		size := w.f.lives[w.k][id].size
		if w.base[id] = votes[size].elected(); w.base[id] == nil {
			w.base[id] = w.f.solver.alone(observation{w.k, size})
		}
	}
}

// tally counts the formulas of allocations with the same size.
type tally struct {
	votes map[*formula]int
	order []*formula // in order of first appearance, so that equal recordings give equal profiles
}

func (t *tally) add(f *formula) {
	if t.votes[f] == 0 {
		t.order = append(t.order, f)
	}
	t.votes[f]++
}

// elected returns the formula with the most votes; nil without votes. In a tie, it is the first one that grows, or
// else the first.
func (t *tally) elected() *formula {
	if t == nil {
		return nil
	}
	var best *formula
	for _, f := range t.order {
		if best == nil || t.votes[f] > t.votes[best] || t.votes[f] == t.votes[best] && best.constant() && !f.constant() {
			best = f
		}
	}
	return best
}

// add writes event i.
func (w *writer) add(i int) {
	e := &w.events[i]
	out := event{id: e.ID, queue: e.Queue, kind: e.Kind}
	if e.Kind != stream.Alloc {
		w.out = append(w.out, out)
		return
	}
	if w.ragged == nil && w.workspace(i) && w.found.there[e.ID] == nil {
		w.base[e.ID] = w.workspaceFormula(i)
	}
	out.formula = w.f.intern(w.base[e.ID])
	w.out = append(w.out, out)
	if f := w.found.extra[i]; f != nil {
		w.insert(f, e.Queue)
	}
	if sum, there := w.sumAt(i); sum != nil {
		w.addSum(i, sum, there)
	}
}

// insert writes a short-lived allocation.
func (w *writer) insert(f *formula, queue uint16) {
	id := w.made
	w.made++
	w.out = append(w.out, event{id: id, formula: w.f.intern(f), queue: queue, kind: stream.Alloc}, event{id: id, kind: stream.Free})
}

// monos returns the products of the quantities at event i.
func (w *writer) monos(i int) []float64 {
	if w.ragged != nil {
		return w.ragged.sums.floats[w.ragged.pointAt(w.k, i)]
	}
	return w.f.program.at(w.f.points[w.k])
}

// observed yields the sizes of an allocation, each with the products of the quantities in its recording.
func (w *writer) observed(id uint32) func(yield func([]float64, uint64) bool) {
	return func(yield func([]float64, uint64) bool) {
		if w.ragged != nil {
			for _, o := range w.ragged.members[w.ragged.families.of(w.k, id)].obs {
				if !yield(w.ragged.sums.floats[o.recording], o.size) {
					return
				}
			}
			return
		}
		for _, o := range w.f.observations(w.k, id) {
			if !yield(w.f.program.at(w.f.points[o.recording]), o.size) {
				return
			}
		}
	}
}
