// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// Remedy is a change that makes a run fit.
type Remedy struct {
	Flags []string // the flags, as a user would type them
	Takes uint64   // bytes on the card, or with a limit, bytes that PyTorch reserves
}

// enoughRemedies is the largest number of remedies to show.
const enoughRemedies = 3

// Remedies returns up to three changes that make a run fit, each simulated, starting with those that change the least
// about what is trained. If no single change does, it returns the shortest list of changes that does. It is empty if
// nothing helps, or if the run takes long to simulate.
func Remedies(ctx context.Context, s *setup.Setup, card gpu.Card) ([]Remedy, error) {
	q, err := newSearch(Request{Setup: s, Card: card}, newProber(s).during(ctx).upTo(card), true)
	if err != nil {
		return nil, err
	}
	today, err := q.probe(q.today, q.kind)
	if err != nil || today.Events() > longRun {
		return nil, err
	}
	if out, err := q.simple(); len(out) > 0 || err != nil {
		return out, err
	}
	if out, err := q.combined(); len(out) > 0 || err != nil {
		return out, err
	}
	q.tight = true
	return q.simple()
}

// simple returns the single changes that make the run fit, and the fastest settings.
func (s *search) simple() ([]Remedy, error) {
	tried := s.singles()
	found := make([]*Remedy, len(tried))
	inTurn(len(tried), func(i int) bool {
		found[i] = s.remedy(tried[i].pull)
		return true
	})
	best, err := s.chosen()
	if err != nil {
		return nil, err
	}
	if best != nil && s.inside(best, s.advised()) { // show the fastest settings second, after the smaller batch, which changes less
		found = slices.Insert(found, min(1, len(found)), &Remedy{s.flags(best.settings), s.counted(best.Estimate)})
	}
	return different(found), nil
}

// different returns the first few remedies. It skips nils, duplicates and those that add to an earlier one without saving
// more, and keeps at most one that needs more GPUs.
func different(found []*Remedy) (out []Remedy) {
	spread := false
	for _, r := range found {
		if r == nil || len(out) == enoughRemedies {
			continue
		}
		again := slices.ContainsFunc(out, func(o Remedy) bool { return o.suffices(*r) })
		wider := slices.ContainsFunc(r.Flags, func(f string) bool { return strings.HasPrefix(f, "--gpus") })
		if !again && !(wider && spread) {
			out = append(out, *r)
		}
		spread = spread || wider
	}
	return out
}

// suffices reports whether a remedy has no flags that other lacks, and takes about as little memory.
func (r Remedy) suffices(other Remedy) bool {
	further := slices.ContainsFunc(r.Flags, func(f string) bool { return !slices.Contains(other.Flags, f) })
	return !further && (len(r.Flags) == len(other.Flags) || float64(other.Takes) > (1-worthDefragmenting)*float64(r.Takes))
}

// singles returns the changes that are tried alone: the largest batch that fits, and the levers with a flag.
func (s *search) singles() []lever {
	var out []lever
	if i, err := s.largest(s.today, s.advised()); err == nil && i >= 0 && s.batches[i] < s.today.batch {
		at := s.split(s.today, s.batches[i])
		out = append(out, lever{change: "smaller batch", pull: func(x *settings) { x.batch, x.accumulation = at.batch, at.accumulation }})
	}
	for _, l := range s.further(s.today) {
		x := s.today
		if l.pull(&x); x.chunks == 0 && (x.batch == s.today.batch || len(out) == 0 || x.world != s.today.world) {
			out = append(out, l)
		}
	}
	return out
}

// remedy returns the current run with a change as a remedy, or nil if it still does not fit.
func (s *search) remedy(pull func(x *settings)) *Remedy {
	x := s.today
	pull(&x)
	c, err := s.measured(x)
	if err != nil {
		return nil
	}
	placed, fits, err := s.placed(c, s.advised())
	if err != nil || !fits {
		return nil
	}
	return s.asRemedy(placed.settings)
}

// asRemedy returns settings as a remedy, if the full estimate confirms that they fit.
func (s *search) asRemedy(x settings) *Remedy {
	c, err := s.choice(x)
	if err != nil || !runs(c.Estimate) {
		return nil
	}
	flags := s.flags(x)
	if len(flags) == 0 {
		return nil // a change that only code can make
	}
	return &Remedy{flags, s.counted(c.Estimate)}
}

// counted returns the part of an answer's memory that has to fit.
func (s *search) counted(a *estimate.Answer) uint64 {
	if s.byLimit(s.today) {
		return a.PeakReserved
	}
	return a.DevicePeak
}

// flags returns the flags that give a run these settings. There is no flag for a chunked loss; it is empty if nothing
// else changes.
func (s *search) flags(x settings) []string {
	to := x.on(s.base)
	to.Steps = s.base.Steps // the number of simulated steps is not a setting of the run
	out := setup.FlagsBetween(s.base, to)
	if x.chunks > 0 && len(out) > 0 {
		out = append(out, "and a loss in chunks")
	}
	return out
}

// combined returns the shortest list of changes that makes the run fit, from the settings that take the least memory.
func (s *search) combined() ([]Remedy, error) {
	least, err := s.least()
	if err != nil {
		return nil, err
	}
	if _, fits, err := s.placed(least, s.advised()); err == nil && fits {
		if r := s.asRemedy(least.settings); r != nil {
			return []Remedy{*r}, nil
		}
	}
	names, x := s.nearest(least.settings)
	if names == nil {
		return nil, nil
	}
	if r := s.asRemedy(x); r != nil {
		return []Remedy{*r}, nil
	}
	return nil, nil
}
