// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/units"
)

// levers.go explains why a lever cannot be used, and rescue.go handles plans in which nothing fits.

// rejected lists the nearest alternatives to a choice, and why they were not chosen: the next larger batch, and the
// best of each variant that lost.
func (s *search) rejected(best *Choice) ([]Rejection, error) {
	out := []Rejection{}
	add := func(x settings, why string) {
		out = append(out, Rejection{setup.Planned(x.on(s.base)), why, describe(x, best.settings)})
	}
	for _, batch := range s.batches {
		x := s.split(best.settings, batch)
		if batch <= best.settings.batch {
			continue
		}
		c, err := s.timed(x)
		if err != nil {
			return nil, err
		}
		x, why, err := s.against(c, best)
		if err != nil {
			return nil, err
		}
		add(x, why)
		break
	}
	if x := best.settings; x.precision != s.today.precision && s.req.Card.LacksBF16() && !s.rules.computes(s.today, s.req.Card) {
		x.precision = s.today.precision
		add(x, s.req.Card.Name+" has no bf16 hardware")
	}
	for _, v := range s.flipped(best.settings) {
		c, err := s.bestOf(v)
		if err != nil {
			return nil, err
		}
		x, why, err := s.against(c, best)
		if err != nil {
			return nil, err
		}
		add(x, why)
	}
	return out, nil
}

// flipped returns variants of settings, each with one setting changed.
func (s *search) flipped(x settings) []settings {
	var out []settings
	if len(s.rules.checkpointing(s.base)) > 1 {
		y := x
		y.checkpointing = !x.checkpointing
		out = append(out, y)
	}
	if x.optimizer != s.today.optimizer && x.optimizer != fused[s.today.optimizer] { // the fused variant is free
		y := x
		y.optimizer = s.today.optimizer
		out = append(out, y)
	}
	if x.precision == s.today.precision && s.emulatesBF16() && !s.rules.fixed("precision") {
		y := x
		y.precision = setup.AmpFP16
		out = append(out, y)
	}
	if x.precision != s.today.precision && s.rules.computes(s.today, s.req.Card) {
		y := x
		y.precision = s.today.precision
		out = append(out, y)
	}
	return out
}

// bestOf returns a variant at the largest batch that fits, or at the smallest if none does.
func (s *search) bestOf(v settings) (candidate, error) {
	r := room{share: s.req.Goal.share(), careful: true}
	v.allocator = s.today.allocator
	i, err := s.largest(v, r)
	if err != nil {
		return candidate{}, err
	}
	c, err := s.timed(s.split(v, s.batches[max(i, 0)]))
	if err == nil && i >= 0 {
		c, _, err = s.placed(c, r)
	}
	return c, err
}

// against returns why a candidate was not chosen, and its settings with the choice's allocator options, so that the
// comparison is fair. The memory comes from a full estimate, as on the ladder.
func (s *search) against(c candidate, best *Choice) (x settings, why string, err error) {
	_, fits, err := s.placed(c, room{share: s.req.Goal.share(), careful: true})
	if err != nil {
		return c.settings, "", err
	}
	c.allocator = best.settings.allocator
	whole, err := s.choice(c.settings)
	if err != nil && s.drops(c.settings, err) {
		return c.settings, "the script cannot be followed with these settings", nil
	}
	if err != nil {
		return c.settings, "", err
	}
	c.reserved = whole.Estimate.PeakReserved
	return c.settings, s.reason(c, fits, best), nil
}

// reason explains why a candidate with known memory is not the choice.
func (s *search) reason(c candidate, fits bool, best *Choice) string {
	if !fits {
		return s.tooLarge(c)
	}
	switch share := c.rate/best.rate - 1; {
	case !s.isTimed() && share < 0:
		return "smaller, and the recordings have no times"
	case share < -noticeable:
		return fmt.Sprintf("%.0f %% slower", -100*share)
	case s.isTimed() && share > noticeable && c.reserved > best.Estimate.PeakReserved:
		return fmt.Sprintf("only %.0f %% faster, and takes %s of the available memory", 100*share, s.taken(c))
	case c.reserved >= best.Estimate.PeakReserved:
		return "no faster, and takes more memory"
	}
	return "no faster, and changes more"
}

// taken returns the share of the memory that a candidate takes.
func (s *search) taken(c candidate) string {
	return fmt.Sprintf("%.0f %%", 100*float64(s.bytesNeeded(c))/float64(max(s.bytesFree(), 1)))
}

// tooLarge describes how much memory a candidate needs and how much there is.
func (s *search) tooLarge(c candidate) string {
	need, have, what := s.bytesNeeded(c), s.bytesFree(), s.limitName()
	if need <= have {
		return fmt.Sprintf("needs %v of %s's %v, which is too close", units.Bytes(need), what, units.Bytes(have))
	}
	return fmt.Sprintf("needs %v, but %s has %v", units.Bytes(need), what, units.Bytes(have))
}

// bytesNeeded returns the memory of a candidate to compare with bytesFree: with a limit, what PyTorch reserves;
// otherwise, everything that the process takes on the card.
func (s *search) bytesNeeded(c candidate) uint64 {
	if s.byLimit(c.settings) {
		return c.reserved
	}
	return c.reserved + s.outside(c.settings)
}

// bytesFree returns the memory that a run has to fit into.
func (s *search) bytesFree() uint64 {
	share := s.req.Goal.share() * (1 - s.req.Margin)
	if s.byLimit(s.today) {
		return uint64(float64(s.base.Limit) * share)
	}
	total := uint64(float64(s.req.Card.Total) * share)
	return total - min(s.req.Reserve, total)
}

func (s *search) limitName() string {
	if s.byLimit(s.today) {
		return "the limit"
	}
	return "the card"
}

// byLimit reports whether the setup's limit is reached before the card's.
func (s *search) byLimit(x settings) bool {
	limit := s.base.Limit
	return limit > 0 && (s.req.Card.Total == 0 || limit+s.outside(x) < s.req.Card.Total)
}

func (s *search) outside(x settings) uint64 { return estimate.Outside(x.on(s.base), s.req.Card) }
