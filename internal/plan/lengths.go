// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
)

// If lengths vary, a candidate is tried with the first steps of its run and the step with the longest batch (see
// estimate.Probe), in three orders; the choice is then simulated for all of its steps.

// maxJudged is the maximum number of micro-batches to simulate in a run with varying lengths if a plan changes its
// accumulation. With an accumulation of three, the usual number of steps reaches it.
const maxJudged = 120

// vary applies the length settings to a run with varying lengths.
func (x settings) vary(s, base *setup.Setup) {
	if base.Lengths == nil {
		return
	}
	s.Seed += x.seed
	if x.lengths > 0 {
		estimate.LengthRemedies(base)[x.lengths-1].On(s)
	}
	if x.seq < base.Seq {
		s.Lengths = s.Lengths.CutTo(x.seq)
	}
	if x.accumulation != max(base.Accumulation, 1) {
		s.Steps = min(base.Steps, max(maxJudged/x.accumulation, 3))
	}
}

// otherOrders returns the number of further orders in which a candidate has to fit: none if the lengths have a fixed
// order, or if the candidate may use all of the room.
func (s *search) otherOrders(r room) int {
	if s.base.Lengths == nil || s.base.Lengths.Each != nil || !r.careful {
		return 0
	}
	return 2
}

// lengthLevers returns the changes that may help if lengths vary, besides expandable segments.
func (s *search) lengthLevers() (out []lever) {
	for i, r := range estimate.LengthRemedies(s.base) {
		out = append(out, lever{r.Change, r.Costs, func(x *settings) { x.lengths = i + 1 }})
	}
	for _, r := range estimate.AllocatorRemedies(s.base) {
		if s.base.Lengths != nil && !strings.Contains(r.Change, "expandable") {
			out = append(out, lever{"allocator " + r.Change, "", func(x *settings) {
				x.allocator = strings.TrimPrefix(x.allocator+","+r.Change, ",")
			}})
		}
	}
	return out
}
