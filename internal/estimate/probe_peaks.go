// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"
	"fmt"
)

// A run with loops takes up to a second to play, and a search often does not need its peaks: its speed is enough,
// or its tensors alone are too large, or only a limit matters. So peaks are computed on demand.

// Peaks holds the peaks of a run without a limit.
type Peaks struct {
	Allocated uint64 // bytes in tensors
	Reserved  uint64 // bytes reserved
}

// Peaks returns the peaks of the run. It computes them once.
func (p *Probe) Peaks() (Peaks, error) {
	p.playing.Lock()
	defer p.playing.Unlock()
	if p.known {
		return p.peaks, nil
	}
	err := p.measure()
	return p.peaks, err
}

// measure computes the peaks without a limit. A run that is too long to be played to its end counts as infinite once
// it exceeds the largest card; otherwise its peaks are unknown.
func (p *Probe) measure() error {
	got, err := p.play(p.Setup.Allocator, 0, farTooLarge*p.largest)
	var beyond LimitError
	switch {
	case errors.As(err, &beyond) && p.largest > 0 && got.requested > p.largest:
		p.learn(Peaks{endless, endless})
		return nil
	case err != nil:
		return err
	case got.OOM != nil:
		return fmt.Errorf("a tensor of this run would be larger than any memory: %w", got.OOM)
	}
	if p.PeakRequested == 0 { // with folded loops PeakRequested is already known
		p.PeakRequested = got.requested
	}
	p.learn(Peaks{got.PeakAllocated, got.PeakReserved})
	p.events = max(p.events, got.work)
	return nil
}

func (p *Probe) learn(peaks Peaks) { p.peaks, p.known = peaks, true }

// Stays reports whether the run reserves no more than a limit that PyTorch is unaware of, with these allocator
// options.
func (p *Probe) Stays(limit uint64, conf string) (bool, error) {
	if conf == p.Setup.Allocator && (p.PeakRequested > limit || p.isOver(limit)) {
		return false, nil
	}
	peak, err := p.Under(conf)
	return peak <= limit, err
}

// isOver reports whether the run is known to reserve more than a limit.
func (p *Probe) isOver(limit uint64) bool {
	p.playing.Lock()
	defer p.playing.Unlock()
	return limit <= p.over
}

// settle plays the run within a limit, if its peaks are unknown. As long as memory does not run out the limit makes
// no difference, so the peaks are the same as without one. If memory does run out, settle returns the verdict
// instead.
func (p *Probe) settle(reservable uint64) (v Verdict, decided bool, err error) {
	p.playing.Lock()
	defer p.playing.Unlock()
	if p.known {
		return v, false, nil
	}
	at := atLimit{p.Setup.Allocator, reservable}
	if v, decided = p.recall(at); decided {
		return v, true, nil
	}
	got, err := p.playTo(at.conf, reservable, playing{settled: p.last})
	switch {
	case got.flushed:
		p.over = max(p.over, reservable)
		if v, err = verdictOf(got, err); err != nil {
			return v, false, err
		}
		p.remember(at, v)
		return v, true, nil
	case err != nil:
		return v, false, err
	}
	p.learn(Peaks{got.PeakAllocated, got.PeakReserved})
	return v, false, nil
}
