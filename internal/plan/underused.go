// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"sort"

	"snug/internal/units"
)

// underused is the share of the card below which a note says that a recommendation leaves it mostly unused.
const underused = 0.5

// underusedNote describes how much of the card a choice uses, if that is little because the whole effective batch
// fits at once, and the effective batch that would use most of it.
func (s *search) underusedNote(c *Choice) string {
	x := c.settings
	limit := s.reservable(x, room{share: 1})
	used := float64(c.Estimate.PeakReserved) / float64(max(limit, 1))
	if s.long || !s.exact || x.accumulation > 1 || used >= underused || s.rules.locked["batch"] || !s.base.Model.Varies("batch") {
		return ""
	}
	takes, whole, name := s.counted(c.Estimate), s.req.Card.Total, "card" // the same figures as in the table
	if s.byLimit(x) {
		whole, name = s.base.Limit, "limit"
	}
	text := fmt.Sprintf("This uses %.0f %% of the %s (%v of %v), because all %d samples of a step fit at once.",
		share(takes, whole), name, units.Bytes(takes), units.Bytes(whole), x.effective())
	full, err := s.filling(x)
	if err != nil || full.batch <= x.batch {
		return text
	}
	if full.reserved <= c.Estimate.PeakReserved {
		return "" // the batch does not change the memory
	}
	text += fmt.Sprintf(" An effective batch of %d would use %.0f %%", full.effective(), share(takes-c.Estimate.PeakReserved+full.reserved, whole))
	if gain := full.rate/c.rate - 1; s.isTimed() && gain >= noticeable {
		return text + fmt.Sprintf(" and be %.3g times as fast, but changes the training.", 1+gain)
	}
	return text + ", but is no faster."
}

// share returns bytes as a percentage of whole.
func share(bytes, whole uint64) float64 { return 100 * float64(bytes) / float64(max(whole, 1)) }

// filling doubles the batch as often as possible while some of the card stays free, and returns the result with its
// speed and memory.
func (s *search) filling(x settings) (candidate, error) {
	at := func(i int) (c candidate, fits bool) {
		y := x
		y.batch <<= i
		c, err := s.timed(y)
		if err == nil {
			fits, err = s.fits(c, room{share: usableShares[len(usableShares)-1].share, careful: true})
		}
		return c, fits && err == nil
	}
	most := 0
	for x.batch<<(most+1) <= maxSamples && x.batch<<(most+1) <= maxTokens/(max(x.seq, 1)*s.base.Rows()) {
		most++
	}
	n := sort.Search(most, func(i int) bool { _, fits := at(i + 1); return !fits })
	c, _ := at(n)
	if c.probe == nil {
		return c, fmt.Errorf("batch %d cannot be simulated", x.batch<<n)
	}
	return c, c.measure()
}
