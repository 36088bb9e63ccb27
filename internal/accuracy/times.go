// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// timed is a run that had the card to itself: the seconds of a step, estimated and
// true.
type timed struct {
	id              string
	estimated, true float64
}

func (t timed) off() float64 { return t.estimated/t.true - 1 }

// warmUp is the number of first steps whose time does not count.
const warmUp = 3

// times writes the section on step times, for the runs that were made to measure them.
func (r *Report) times(b *strings.Builder) {
	var all []timed
	for i := range r.Cases {
		c := &r.Cases[i]
		if !strings.HasSuffix(c.File, "_time.jsonl") || c.Estimated == nil || c.Estimated.StepSeconds == 0 || len(c.Seconds()) <= warmUp {
			continue
		}
		all = append(all, timed{c.Setup.ID, c.Estimated.StepSeconds, median(c.Seconds()[warmUp:])})
	}
	if len(all) == 0 {
		return
	}
	var abs []float64
	for _, t := range all {
		abs = append(abs, math.Abs(t.off()))
	}
	slices.Sort(abs)
	fmt.Fprintf(b, "\n## Step times\n\n%d runs, each alone on the card; the median from the fourth step on. The median error is %s, and nine in ten are within %s;\nthe rank correlation is %.3f. The constants of the model (`internal/cost`) were calibrated on all of these runs together, never on a single one.\n\n",
		len(all), percent(abs[len(abs)/2]), percent(abs[len(abs)*9/10]), rankCorrelation(all))
	b.WriteString("| run | said | measured | off |\n| --- | ---: | ---: | ---: |\n")
	for _, t := range all {
		fmt.Fprintf(b, "| %s | %.1f ms | %.1f ms | %+.0f %% |\n", t.id, 1e3*t.estimated, 1e3*t.true, 100*t.off())
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// rankCorrelation returns Spearman's rank correlation of estimates and measurements.
func rankCorrelation(all []timed) float64 {
	estimated := ranks(all, func(t timed) float64 { return t.estimated })
	true := ranks(all, func(t timed) float64 { return t.true })
	var sum float64
	for i := range all {
		d := float64(estimated[i] - true[i])
		sum += d * d
	}
	n := float64(len(all))
	return 1 - 6*sum/(n*(n*n-1))
}

func ranks(all []timed, by func(timed) float64) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(by(all[a]), by(all[b])) })
	out := make([]int, len(all))
	for rank, i := range order {
		out[i] = rank
	}
	return out
}
