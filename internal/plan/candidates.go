// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"slices"

	"snug/internal/setup"
)

// Candidate is a set of settings worth trying on the card itself.
type Candidate struct {
	Settings     setup.Values // as in a Choice
	Batch        int          // samples per GPU in each forward pass
	Accumulation int          // forward passes per step
	World        int          // number of GPUs
	Reserved     uint64       // simulated peak of reserved bytes
	Rate         float64      // simulated samples per second; 0 if the run is not timed
	Fits         bool         // whether the run fits Limit in the simulation
	Limit        uint64       // bytes that PyTorch may reserve, after the margin
}

// The batches of a variant that are worth trying are those around the largest that fits in the simulation, because
// the simulation may be off by one step and smaller batches may be as fast.
const (
	stepsUp   = 1
	stepsDown = 4
)

// Trials are the settings worth trying on the card itself.
type Trials struct {
	Current    setup.Values // the settings of the run as it is, including those that its script determines
	Candidates []Candidate  // the recommendation first
	Fits       bool         // whether any of them fits
}

// Candidates returns the settings worth trying on the card itself: for every variant, the batches around the largest
// that fits in the simulation.
func Candidates(ctx context.Context, r Request) (*Trials, error) {
	s, err := newSearch(r, newProber(r.Setup).during(ctx).upTo(r.Card).counting(r.Done), true)
	if err != nil {
		return nil, err
	}
	list, best, err := s.worthTrying()
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, len(list))
	err = each(len(list), func(i int) (err error) {
		out[i], err = s.tryable(list[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	if best == nil || len(out) > 0 && !list[0].sameBut(best.settings) { // without a recommendation, the fastest candidate that fits comes first
		slices.SortStableFunc(out, func(a, b Candidate) int {
			return cmp.Or(-compareBool(a.Fits, b.Fits), -cmp.Compare(a.Rate, b.Rate), -cmp.Compare(a.Batch, b.Batch))
		})
	}
	return &Trials{Current: s.fields(s.today), Candidates: out, Fits: len(out) > 0 && out[0].Fits}, nil
}

// worthTrying returns the settings to try, and the recommendation; nil if there is none.
func (s *search) worthTrying() ([]settings, *Choice, error) {
	best, err := s.chosen()
	if err != nil {
		return nil, nil, err
	}
	var list []settings
	if best != nil && best.settings.effective() == s.split(best.settings, best.settings.batch).effective() { // if they differ, the effective batch was rounded
		list = append(list, best.settings)
	}
	for _, v := range s.set {
		around, err := s.around(v)
		if err != nil {
			return nil, nil, err
		}
		for _, x := range around {
			if !slices.ContainsFunc(list, x.sameBut) {
				list = append(list, x)
			}
		}
	}
	return list, best, nil
}

// sameBut reports whether two settings are equal except for the allocator options, which trials take from the
// command.
func (x settings) sameBut(y settings) bool {
	x.allocator, y.allocator = "", ""
	return x == y
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// around returns a variant at the batches around the largest that fits.
func (s *search) around(v settings) ([]settings, error) {
	at, err := s.largest(v, room{share: 1})
	if err != nil {
		return nil, err
	}
	var out []settings
	for i := min(at+stepsUp, len(s.batches)-1); i >= max(at-stepsDown, 0); i-- {
		out = append(out, s.split(v, s.batches[i]))
	}
	return out, nil
}

// tryable returns settings as a candidate.
func (s *search) tryable(x settings) (Candidate, error) {
	c, err := s.measured(x)
	if err != nil {
		return Candidate{}, err
	}
	fits, err := s.mayFit(c)
	if err != nil {
		return Candidate{}, err
	}
	out := Candidate{
		Settings: s.fields(x), Batch: x.batch, Accumulation: x.accumulation, World: max(x.world, 1),
		Reserved: c.reserved, Fits: fits, Limit: s.reservable(x, room{share: 1 / (1 - s.req.Margin)}),
	}
	if s.isTimed() {
		out.Rate = c.rate
	}
	return out, nil
}

// mayFit reports whether a candidate may fit the card. If its tensors do, but only a flush of the cache makes room, which
// micro-batch is the last one matters: then the whole step is estimated, because a probe leaves out micro-batches.
func (s *search) mayFit(c candidate) (bool, error) {
	fits, err := s.fits(c, room{share: 1})
	if fits || err != nil || s.req.Margin > 0 || c.probe.Exceeds(s.reservable(c.settings, room{share: 1})) {
		return fits, err
	}
	a, err := s.answer(c.settings, c.seconds)
	if err != nil {
		return false, err
	}
	return runs(a), nil
}
