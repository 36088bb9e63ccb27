// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"

	"snug/internal/stream"
)

// Training continues beyond the recording. If the last steps of a recording are all the same, so are those that
// follow. But a few more steps can reserve more memory, because each finds its free blocks in different places. So
// these steps are played too.

// moreSteps is how many more times the repeating end of a recording is played. After one or two more steps nothing
// changes.
const moreSteps = 2

// maxParts is the largest number of times that the repeated part may fit into a recording. Shorter parts are loops
// within a step.
const maxParts = 8

// repeats returns the number of events at the end of a variant that equal those right before them, or 0; sizes has
// the recorded value of each formula. The order of frees is ignored, because it may differ from step to step, for
// example when a cache is cleared. But allocations and frees must balance: a run that keeps something in each step
// has not settled.
func (v *variant) repeats(sizes []uint64) int {
	n := len(v.events)
	alike := func(i, j int) bool { // counting from the last event
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

// matches returns, for each position up to last in a sequence of n elements, the number of elements from there on
// that equal the beginning of the sequence (Gusfield's Z).
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

// inOrder numbers the allocations in allocation order.
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

// whole is a variant as it is played: the recorded events, and then the repeating end moreSteps more times. The
// repetitions are not materialized, because a recording has millions of events.
type whole struct {
	events []event
	period int    // number of events at the end that repeat
	count  uint32 // number of allocations among the repeated events
	made   uint32
	most   int // most allocations alive at once; 0 if package bestfit cannot play it
}

// close prepares a program for playing.
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

// parts lists the events in playing order, with the offset to add to each allocation's number. An allocation freed
// one step after it was made thus refers to its counterpart in the previous step.
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

// length returns the number of events that are played.
func (w *whole) length() int { return len(w.events) + moreSteps*w.period }
