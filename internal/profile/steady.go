// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"

	"snug/internal/stream"
)

// Training continues for longer than a recording of it. If the last steps of a recording are all the same,
// so are those that follow. But a few more steps can take more memory, because each finds its free blocks
// in different places. So they are played too.

// moreSteps is how often the repeating end of a recording is played again. After one or two more steps
// nothing changes.
const moreSteps = 2

// maxParts is how many times the repeated part may fit into a recording:
// shorter ones are loops within a step.
const maxParts = 8

// repeats returns the number of events at the end of a variant that equal those right before them, or 0; sizes
// are those of its formulas as recorded. The order of frees may differ from step to step, for example when
// a cache is cleared, and does not count. But allocations and frees must balance: a run that keeps
// something in each step has not settled.
func (v *variant) repeats(sizes []uint64) int {
	n := len(v.events)
	alike := func(i, j int) bool { // from the last event to the first
		a, b := &v.events[n-1-i], &v.events[n-1-j]
		return a.kind == b.kind && a.queue == b.queue && (a.kind != stream.Alloc || sizes[a.formula] == sizes[b.formula])
	}
	open := 0 // allocations minus frees in the last q events
	for q, same := range matches(n, n/2, alike) {
		if q == 0 {
			continue
		}
		switch v.events[n-q].kind {
		case stream.Alloc:
			open++
		case stream.Free, stream.FreeRequested:
			open--
		}
		if q*maxParts >= n && int(same) >= q && open == 0 {
			return q
		}
	}
	return 0
}

// matches returns, for each position of a sequence of n up to last, the number of elements from there on
// that equal the sequence's beginning (Gusfield's Z).
func matches(n, last int, alike func(i, j int) bool) []int32 {
	z := make([]int32, last+1)
	l, r := 0, 0
	for i := 1; i <= last; i++ {
		if i < r {
			z[i] = min(int32(r-i), z[i-l])
		}
		for i+int(z[i]) < n && alike(int(z[i]), i+int(z[i])) {
			z[i]++
		}
		if i+int(z[i]) > r {
			l, r = i, i+int(z[i])
		}
	}
	return z
}

// inOrder numbers the allocations as they are made.
func (v *variant) inOrder() {
	names := v.order()
	for i := range v.events {
		switch e := &v.events[i]; e.kind {
		case stream.Mark, stream.EmptyCache:
		default:
			e.id = names[e.id]
		}
	}
}

// whole is a variant as it is played: the events of the recording, and its repeating end moreSteps times
// more. The repetitions are not written out, because a recording has millions of events.
type whole struct {
	events []event
	period int    // how many of them, at the end, repeat themselves
	count  uint32 // allocations among those
	made   uint32
	most   int // most allocations alive at once; 0 if package bestfit cannot play it
}

// close makes a program ready to be played.
func (p *Program) close() {
	for i := range p.variants {
		p.variants[i].close(p)
	}
}

func (v *variant) close(p *Program) {
	period := 0
	if sizes, err := p.sizes(v.at); err == nil {
		period = v.repeats(sizes)
	}
	v.whole = v.longer(period)
	if v.whole.most = v.survey(); v.whole.most == 0 && period > 0 {
		v.whole = v.longer(0)
		v.whole.most = v.survey()
	}
}

// longer returns the variant with its last period events repeated.
func (v *variant) longer(period int) whole {
	w := whole{events: v.events, period: period, made: v.made}
	for _, e := range v.events[len(v.events)-period:] {
		if e.kind == stream.Alloc {
			w.count++
		}
	}
	w.made += moreSteps * w.count
	return w
}

// parts lists the events in the order they are played, with the offset to add to the number of each
// allocation. An allocation that is freed one step after it was made refers to its counterpart of the step
// before.
func (w *whole) parts() iter.Seq2[uint32, []event] {
	return func(yield func(uint32, []event) bool) {
		if !yield(0, w.events) || w.period == 0 {
			return
		}
		for k := uint32(1); k <= moreSteps; k++ {
			if !yield(k*w.count, w.events[len(w.events)-w.period:]) {
				return
			}
		}
	}
}

// length returns how many events are played.
func (w *whole) length() int { return len(w.events) + moreSteps*w.period }
