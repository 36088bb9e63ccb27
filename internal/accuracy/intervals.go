// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"snug/internal/allocator"
	"snug/internal/estimate"
	"snug/internal/setup"
)

// Intervals are derived from measured runs, so checking them with the same runs would prove nothing. Each run is
// checked with the intervals from the others: without itself and its repetitions, and then without its whole family,
// which shows how well a new model would do.

// intervalsOnly lists files that are used only for intervals: they were measured later, and some repeat earlier runs.
var intervalsOnly = []string{"more_dist.jsonl"}

// Judged is a measured run, with the intervals derived without it.
type Judged struct {
	*Case
	Without [2]uint64 // the interval derived without this run
	Unknown [2]uint64 // the interval derived without its whole family
}

// judged returns the cases that intervals are derived from.
func (r *Report) judged() (out []*Case) {
	for _, cases := range [][]Case{r.Cases, r.IntervalsOnly} {
		for i := range cases {
			if cases[i].Estimated != nil {
				out = append(out, &cases[i])
			}
		}
	}
	return out
}

// torch returns the minor PyTorch version of the run.
func (c *Case) torch() string {
	v, err := allocator.ParseVersion(c.Setup.Versions.Torch)
	if err != nil {
		return c.Setup.Versions.Torch
	}
	return v.String()
}

// judge returns each case with the intervals from the other cases.
func judge(cases []*Case) []Judged {
	out := make([]Judged, len(cases))
	each(len(cases), func(i int) {
		c := cases[i]
		j := Judged{Case: c}
		j.Without = c.from(measured(cases, func(o *Case) bool { return !c.again(o) }))
		j.Unknown = c.from(measured(cases, func(o *Case) bool { return o.Setup.Model.Family() != c.Setup.Model.Family() }))
		out[i] = j
	})
	return out
}

// again reports whether two cases are measurements of the same run.
func (c *Case) again(o *Case) bool {
	return o.Card.Name == c.Card.Name && o.Estimated.PeakReserved == c.Estimated.PeakReserved && reflect.DeepEqual(c.plain(), o.plain())
}

// plain returns the setup without its name, and with its version normalized.
func (c *Case) plain() setup.Setup {
	s := *c.Setup
	s.ID, s.Versions.Torch = "", c.torch()
	return s
}

// from returns the interval for this case, derived from the given measured cases.
func (c *Case) from(some []estimate.Case) [2]uint64 {
	r, _ := estimate.NewResiduals(some).About(c.Setup, c.Card)
	least, most := c.Estimated.Ends()
	return r.Around(least, most)
}

// holds reports whether an interval contains the run's measured memory.
func (c *Case) holds(interval [2]uint64) bool {
	return interval[0] <= c.Measured.PeakReserved && c.Measured.PeakReserved <= interval[1]
}

// Coverage counts the runs in a group that are inside their intervals.
type Coverage struct {
	Name           string  // the group
	Runs           int     // the number of runs
	Itself, Family int     // number of runs inside the interval derived without the run itself, and without its family
	Width          float64 // median width of the interval derived without the run itself, as a fraction of the estimate
}

// coverageBy returns the counts for each name.
func coverageBy(all []Judged, names func(*Case) []string) (out []Coverage) {
	widths := map[string][]float64{}
	at := map[string]int{}
	for i := range all {
		j := &all[i]
		for _, name := range names(j.Case) {
			k, ok := at[name]
			if !ok {
				k = len(out)
				at[name] = k
				out = append(out, Coverage{Name: name})
			}
			h := &out[k]
			h.Runs++
			h.Itself += count(j.holds(j.Without))
			h.Family += count(j.holds(j.Unknown))
			widths[name] = append(widths[name], float64(j.Without[1]-j.Without[0])/float64(j.Estimated.PeakReserved))
		}
	}
	for k := range out {
		out[k].Width = median(widths[out[k].Name])
	}
	slices.SortFunc(out, func(a, b Coverage) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kinds are the ways to group runs in the section on intervals.
var kinds = []struct {
	name  string
	names func(*Case) []string
}{
	{"card and PyTorch", func(c *Case) []string { return []string{c.Card.Name + ", " + c.torch()} }},
	{"family", func(c *Case) []string { return []string{c.Setup.Model.Family()} }},
	{"option", func(c *Case) []string { return estimate.Options(c.Setup) }},
}

const judgment = `
## The intervals, tested out of sample

Each estimate has an interval for the peak of reserved memory. It covers everything that cannot be known before the run (updates that
float16 skips, buckets that DDP frees late, kernels whose memory is unknown on the card), plus the errors of earlier estimates for similar
runs. A run must not be tested on an interval that it contributed to. Here each run is tested on the interval from the other runs, once
without the run itself and once without its whole family. The goal is nine in ten inside for every card, family and option. The width is
the median width of the interval as a share of the estimate.
`

// intervals writes the section on intervals.
func (r *Report) intervals(b *strings.Builder) {
	all := judge(r.judged())
	b.WriteString(judgment)
	for _, k := range kinds {
		fmt.Fprintf(b, "\n| %s | runs | inside, without the run | inside, without its family | width |\n| --- | ---: | ---: | ---: | ---: |\n", k.name)
		for _, h := range coverageBy(all, k.names) {
			fmt.Fprintf(b, "| %s | %d | %d | %d | %s |\n", h.Name, h.Runs, h.Itself, h.Family, percent(h.Width))
		}
	}
	b.WriteString("\nRuns outside the interval derived without the run, or without its family:\n\n| run | outside by | without the run | without its family |\n| --- | ---: | --- | --- |\n")
	for i := range all {
		if j := &all[i]; !j.holds(j.Without) || !j.holds(j.Unknown) {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", j.ID(), signed(j.Off()), heldText(j.holds(j.Without)), heldText(j.holds(j.Unknown)))
		}
	}
}

func heldText(held bool) string {
	if held {
		return "inside"
	}
	return "outside"
}
