// SPDX-License-Identifier: Apache-2.0

package profile

import "snug/internal/stream"

// Training goes on for longer than a recording of it. Where the last steps of a
// recording are all the same, so will be those to come; yet a few more can take
// more memory, as the free blocks that a step finds are not where the step
// before found them. So they are played too.

// moreSteps is how often the end of a recording that repeats itself is played
// again. After one or two more steps nothing new comes.
const moreSteps = 2

// mostParts is how many times the repeated part may fit into a recording:
// shorter ones are loops within a step.
const mostParts = 8

// repeats is how many events at the end of a variant are the same as those right
// before them, 0 where none are; sizes are those of its formulas as recorded. In
// which order things are let go can differ from step to step, as where a cache is
// cleared, and does not count; but as many go as come: a run that keeps something
// each time has not settled.
func (v *variant) repeats(sizes []uint64) int {
	n := len(v.events)
	codes := make([]uint64, n) // from the last event to the first
	for i := range v.events {
		e := &v.events[i]
		code := uint64(e.kind) | uint64(e.queue)<<8
		if e.kind == stream.Alloc {
			code |= sizes[e.formula] << 24
		}
		codes[n-1-i] = code
	}
	open := 0 // how much more often the last q events allocate than they let go
	for q, same := range matches(codes) {
		if q == 0 {
			continue
		}
		switch v.events[n-q].kind {
		case stream.Alloc:
			open++
		case stream.Free, stream.FreeRequested:
			open--
		}
		if q <= n/2 && q*mostParts >= n && int(same) >= q && open == 0 {
			return q
		}
	}
	return 0
}

// matches is, for each place of a sequence, how many elements from there on are
// those of its beginning (Gusfield's Z).
func matches(s []uint64) []int32 {
	z := make([]int32, len(s))
	l, r := 0, 0
	for i := 1; i < len(s); i++ {
		if i < r {
			z[i] = min(int32(r-i), z[i-l])
		}
		for i+int(z[i]) < len(s) && s[z[i]] == s[i+int(z[i])] {
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
// its end that repeat themselves moreSteps times more.
type whole struct {
	events []event
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
	v.whole.events, v.whole.made = v.longer(period)
	if v.whole.most = v.survey(); v.whole.most == 0 && period > 0 {
		v.whole.events, v.whole.made = v.longer(0)
		v.whole.most = v.survey()
	}
}

// longer repeats the last events. Each allocation among them that is let go a
// step later than it was made finds its like of the step before.
func (v *variant) longer(period int) ([]event, uint32) {
	if period == 0 {
		return v.events, v.made
	}
	part := v.events[len(v.events)-period:]
	count := uint32(0)
	for i := range part {
		if part[i].kind == stream.Alloc {
			count++
		}
	}
	out := make([]event, len(v.events), len(v.events)+moreSteps*period)
	copy(out, v.events)
	for k := uint32(1); k <= moreSteps; k++ {
		for _, e := range part {
			if e.kind != stream.Mark && e.kind != stream.EmptyCache {
				e.id += k * count
			}
			out = append(out, e)
		}
	}
	return out, v.made + moreSteps*count
}
