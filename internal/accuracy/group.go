// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"math"
	"slices"
	"strings"

	"snug/internal/setup"
)

// Stats summarizes a group of errors.
type Stats struct {
	Cases  int     // the number of runs
	Exact  int     // runs whose estimate is exact to the byte
	Median float64 // the median of the absolute errors
	P95    float64 // the 95th percentile of the absolute errors
	Worst  float64 // the largest error, with its sign
	Under  int     // estimates that are too low by more than a thousandth
	Low    float64 // the lowest value of measured/estimated, minus one
	High   float64 // the highest value of measured/estimated, minus one
}

// under is how far below the measurement an estimate must be to count as too low.
const under = 0.001

// summarize summarizes errors, given as estimated/measured - 1.
func summarize(errs []float64) Stats {
	s := Stats{Cases: len(errs)}
	if len(errs) == 0 {
		return s
	}
	sizes := make([]float64, len(errs))
	for i, e := range errs {
		sizes[i] = math.Abs(e)
		if e == 0 {
			s.Exact++
		}
		if e < -under {
			s.Under++
		}
		if math.Abs(e) > math.Abs(s.Worst) {
			s.Worst = e
		}
		truth := 1/(1+e) - 1
		s.Low, s.High = min(s.Low, truth), max(s.High, truth)
	}
	slices.Sort(sizes)
	s.Median = (sizes[(len(sizes)-1)/2] + sizes[len(sizes)/2]) / 2
	s.P95 = sizes[min(len(sizes)-1, len(sizes)*95/100)]
	return s
}

// Group summarizes the cases of one family or option.
type Group struct {
	Name string // the family or option
	Stats
}

// grouped returns a summary of the errors for each name, sorted by name.
func grouped(cases []Case, names func(*setup.Setup) []string) []Group {
	errs := map[string][]float64{}
	for i := range cases {
		if c := &cases[i]; c.Estimated != nil {
			for _, n := range names(c.Setup) {
				errs[n] = append(errs[n], c.Reserved())
			}
		}
	}
	var out []Group
	for n, e := range errs {
		out = append(out, Group{n, summarize(e)})
	}
	slices.SortFunc(out, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return out
}
