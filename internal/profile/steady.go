// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"iter"

	"snug/internal/stream"
)

// Training goes on for longer than a recording of it. Where the last steps of a
// recording are all the same, so will be those to come; yet a few more can take
// more memory, as the free blocks that a step finds are not where the step
// before found them. So they are played too.

// moreSteps is how often the end of a recording that repeats itself is played
// again. After one or two more steps nothing new comes.
const moreSteps = 2

// maxParts is how many times the repeated part may fit into a recording:
// shorter ones are loops within a step.
const maxParts = 8

// repeats is how many events at the end of a variant are the same as those right
// before them, 0 where none are; sizes are those of its formulas as recorded. In
// which order things are let go can differ from step to step, as where a cache is
// cleared, and does not count; but as many go as come: a run that keeps something
// each time has not settled.
func (v *variant) repeats(sizes []uint64) int {
	n := len(v.events)
	alike := func(i, j int) bool { // from the last event to the first
		a, b := &v.events[n-1-i], &v.events[n-1-j]
		return a.kind == b.kind && a.queue == b.queue && (a.kind != stream.Alloc || sizes[a.formula] == sizes[b.formula])
	}
	open := 0 // how much more often the last q events allocate than they let go
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

// matches is, for each place of a sequence of n up to the last that is asked for, how
// many elements from there on are those of its beginning (Gusfield's Z).
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

// whole is a variant as it is played: the events of the recording, and those at
// its end that repeat themselves moreSteps times more. They are not written down
// again: a recording has millions.
type whole struct {
	events []event
	period int    // how many of them, at the end, repeat themselves
	count  uint32 // allocations among those
	made   uint32
	most   int // allocations alive at once; 0: not one for package bestfit
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

// longer repeats the last events.
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

// parts is the events in the order they are played, and what is added to the
// number of each allocation among them. One that is let go a step later than it was
// made finds its like of the step before.
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

// length is how many events are played.
func (w *whole) length() int { return len(w.events) + moreSteps*w.period }
