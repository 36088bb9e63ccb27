// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"snug/internal/setup"
)

// Remedy is a change to a run of varying lengths, with the memory the run would then reserve.
type Remedy struct {
	Change       string // in words
	PeakReserved uint64 // of the run with the change, in bytes
}

// expandableSegments is the allocator's option that lets segments grow.
const expandableSegments = "expandable_segments:True"

// maxRemedied is the largest number of events of a run for which remedies are simulated.
const maxRemedied = 800_000

// padded is the multiple to which lengths are rounded up, so that fewer of them differ.
const padded = 64

// Remedies simulates the usual remedies for varying lengths, each on its own, and returns those that help,
// the best first.
func (a *Answer) Remedies() ([]Remedy, error) {
	s := a.Setup
	if s.Lengths == nil || len(a.run.trace.Events) > maxRemedied {
		return nil, nil
	}
	var out []Remedy
	for _, r := range []struct {
		change string
		is     bool
		on     func(s *setup.Setup)
	}{
		{expandableSegments, !strings.Contains(s.Allocator, "expandable"), func(s *setup.Setup) {
			s.Allocator = strings.TrimPrefix(s.Allocator+","+expandableSegments, ",")
		}},
		{"padding to multiples of 64", true, func(s *setup.Setup) { s.Lengths = s.Lengths.Padded(padded, s.Seq) }},
		{"the longest batch first", true, func(s *setup.Setup) { s.Lengths = s.Lengths.LongestFirst() }},
	} {
		if !r.is {
			continue
		}
		t := *s
		t.Limit = 0
		r.on(&t)
		b, err := try(context.Background(), &t, a.shown(), a.most)
		if err != nil {
			return nil, err
		}
		if b.OOM == nil && b.PeakReserved < a.PeakReserved {
			out = append(out, Remedy{r.change, b.PeakReserved})
		}
	}
	slices.SortStableFunc(out, func(a, b Remedy) int { return cmp.Compare(a.PeakReserved, b.PeakReserved) })
	return out, nil
}
