// SPDX-License-Identifier: Apache-2.0

package estimate

import "errors"

// Verdict is whether a run fits, and how often it flushes the cache.
type Verdict struct {
	Fits    bool   // whether the run fits
	Retries uint64 // cache flushes per step because memory ran out
}

// Within reports whether the run fits if PyTorch may reserve this many bytes, with these allocator options. It
// accounts for fragmentation and retries: unless the answer is obvious, the stream is played at that limit.
func (p *Probe) Within(reservable uint64, conf string) (Verdict, error) {
	if p.Exceeds(reservable) {
		return Verdict{}, nil
	}
	if conf == p.Setup.Allocator {
		v, decided, err := p.settle(reservable)
		switch {
		case decided || err != nil:
			return v, err
		case p.peaks.Allocated > reservable:
			return Verdict{}, nil
		case p.peaks.Reserved <= reservable:
			return Verdict{Fits: true}, nil
		}
	} else if !p.Plays(conf) {
		return Verdict{}, nil
	}
	at := atLimit{conf, reservable}
	if v, known := p.recall(at); known {
		return v, nil
	}
	v, err := verdictOf(p.play(conf, reservable, 0))
	if err == nil {
		p.remember(at, v)
	}
	return v, err
}

// verdictOf returns the verdict of a play at a limit.
func verdictOf(got played, err error) (v Verdict, _ error) {
	var beyond LimitError
	switch {
	case errors.As(err, &beyond): // the cache would be flushed endlessly
		return v, nil
	case err != nil:
		return v, err
	}
	return Verdict{Fits: got.OOM == nil, Retries: got.retries}, nil
}

// atLimit identifies a play: its limit and options.
type atLimit struct {
	conf  string
	limit uint64
}

// recall returns an earlier verdict.
func (p *Probe) recall(at atLimit) (Verdict, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, known := p.within[at]
	return v, known
}

func (p *Probe) remember(at atLimit, v Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.within == nil {
		p.within = map[atLimit]Verdict{}
	}
	p.within[at] = v
}

// Under returns the bytes that the run reserves with these allocator options, without a limit.
func (p *Probe) Under(conf string) (uint64, error) {
	own, err := p.Peaks()
	if err != nil || conf == p.Setup.Allocator || own.Reserved == endless || !p.Plays(conf) {
		return own.Reserved, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if peak, ok := p.under[conf]; ok {
		return peak, nil
	}
	got, err := p.play(conf, 0, 0)
	if err == nil {
		if p.under == nil {
			p.under = map[string]uint64{}
		}
		p.under[conf] = got.PeakReserved
	}
	return got.PeakReserved, err
}
