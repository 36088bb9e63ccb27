// SPDX-License-Identifier: Apache-2.0

package loops

import "snug/internal/allocator"

// tally holds the figures of the current play.
type tally struct {
	at                   int // the current event, in the unfolded trace
	played               int // events played one by one
	work                 int // the work of the play, see Options.Most
	allocated, requested uint64
	retries, before      uint64
	counts               bool // retries are counted, because Options.Since has been reached
	peakRequested        uint64
	res                  allocator.Result
	phase                uint32
	phases               []uint64
	bounds               bounds
	chart                *Chart
}

// bounds are the limits of a play, 0 for none.
type bounds struct {
	work, segments int
	quanta         uint64
}

// beyond returns the error for a play that exceeded a limit.
func (p *Player) beyond() error {
	b := &p.bounds
	switch {
	case b.quanta > 0 && p.held > b.quanta:
		return ErrTooLarge
	case b.work > 0 && p.Work() > b.work, b.segments > 0 && len(p.segs)-len(p.gone) > b.segments:
		return ErrTooLong
	}
	return nil
}

// rise counts an allocation.
func (p *Player) rise(size, asked uint64) {
	p.allocated += size
	p.requested += asked
	p.peaks(p.allocated, p.requested, p.at, p.at)
}

// fall counts a freed allocation.
func (p *Player) fall(size, asked uint64) {
	p.allocated -= size
	p.requested -= asked
}

// peaks raises the peaks to the given amounts of memory, if these are higher. The allocated memory was reached at
// event at; the reserved memory last grew at event grownAt.
func (p *Player) peaks(allocated, requested uint64, at, grownAt int) {
	if allocated > p.res.PeakAllocated {
		p.res.PeakAllocated, p.res.PeakAllocatedAt = allocated, at
	}
	if reserved := p.held * quantum; reserved > p.res.PeakReserved {
		p.res.PeakReserved, p.res.PeakReservedAt = reserved, grownAt
	}
	p.peakRequested = max(p.peakRequested, requested)
	p.notePhase(allocated)
}

func (p *Player) notePhase(allocated uint64) {
	if int(p.phase) < len(p.phases) {
		p.phases[p.phase] = max(p.phases[p.phase], allocated)
	}
}

// note is called after each played event.
func (p *Player) note() {
	p.played++
	p.work++
	if p.chart != nil {
		p.chart.Note(p.at, p.allocated, p.held*quantum)
	}
	if c := p.watch.rec; c != nil {
		p.work++ // recording an event costs as much as playing it
		c.noted(p)
	}
}

// passed counts the iterations of a shortcut that starts at event at.
func (p *Player) passed(s *shortcut, at int) {
	most := uint64(int64(p.allocated) + s.most)
	if p.chart != nil {
		p.chart.Note(at, most, p.held*quantum)
	}
	asked := uint64(int64(p.requested) + s.mostAsked)
	p.allocated = uint64(int64(p.allocated) + s.allocated)
	p.requested = uint64(int64(p.requested) + s.requested)
	p.at = at + s.events - 1
	p.peaks(most, asked, at+s.mostAt, at+s.lastGrowth)
}
