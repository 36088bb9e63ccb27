// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"snug/internal/estimate"
	"snug/internal/units"
)

// room is the memory that a run has to fit into: a share of the card, with or without an allowance for the errors of
// estimates. The ladder's shares are in ladder.go; the recommendation's own share is Goal.share in plan.go. Margin
// and reserve are applied here (reservable); fits (search.go) reports whether a run fits a room.
type room struct {
	share   float64
	careful bool
	below   float64 // share that the estimate itself, without that allowance, must stay below; 0 means share
}

// reservable returns the bytes that PyTorch may reserve in a room.
func (s *search) reservable(x settings, r room) uint64 {
	card, share := s.req.Card, r.share*(1-s.req.Margin)
	if card.Total > 0 {
		free := uint64(float64(card.Total) * share)
		if free <= s.req.Reserve {
			return 0
		}
		card.Total = free - s.req.Reserve
	}
	out := estimate.Reservable(x.on(s.base), card)
	if limit := s.base.Limit; limit > 0 {
		out = min(out, uint64(float64(limit)*share))
	}
	return out
}

// Assumptions about a card that was not measured: its total memory follows a rule that was within 1.5 % wherever it
// could be checked, and the memory of a process outside PyTorch differs by some 200 MiB between generations.
const (
	totalMayLack  = 0.015
	outsideMayAdd = 200 * units.MiB
)

// possiblyMissing returns how much less memory the card may have than assumed. A limit given by the user is exact.
func (s *search) possiblyMissing() uint64 {
	card := s.req.Card
	if card.Total == 0 || s.byLimit(s.today) {
		return 0
	}
	out := uint64(0)
	if !card.Seen {
		out += uint64(totalMayLack * float64(card.Total))
	}
	if !card.Measured {
		out += outsideMayAdd
	}
	return out
}

// inside reports whether a choice's full estimate fits a room, including the upper end of its interval if the room is
// careful.
func (s *search) inside(c *Choice, r room) bool {
	if !runs(c.Estimate) || r.careful && s.mightNotFit(c) {
		return false
	}
	if r.below > 0 && !s.inside(c, room{share: r.below}) {
		return false
	}
	return r.share*(1-s.req.Margin) == 1 || c.Estimate.PeakReserved <= s.reservable(c.settings, r)
}
