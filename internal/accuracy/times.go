// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// timed is a run that had the card to itself, with the estimated and measured seconds per step.
type timed struct {
	id              string
	estimated, true float64
}

func (t timed) off() float64 { return t.estimated/t.true - 1 }

// warmUp is the number of steps at the start whose time is ignored.
const warmUp = 3

// heldTimes has step times that no constant was fitted to.
const heldTimes = "clock_time.jsonl"

// repeatedTimes has runs from heldTimes and dev_time.jsonl, timed again on a later day.
const repeatedTimes = "again_time.jsonl"

// times writes the section on step times, for the runs that were made to measure them.
func (r *Report) times(b *strings.Builder) {
	fitted, held := timedOf(r.Cases), timedOf(r.Held)
	if len(fitted) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Step times\n\nEach run was alone on the card; the time is the median from the fourth step on. The kernel constants (`internal/cost`)\n"+
		"come from measurements of single kernels, and the host constants were fitted to %d runs together: %s.\n", len(fitted), summary(fitted))
	if len(held) > 0 {
		fmt.Fprintf(b, "On %d runs from another day, which were not used for fitting, %s.\n", len(held), summary(held))
	}
	if again := timedOf(r.Again); len(again) > 0 {
		writeRepeated(b, slices.Concat(fitted, held), held, again)
	}
	writeSpeeds(b, r.Speeds)
	b.WriteString("\n| run | estimated | measured | off |\n| --- | ---: | ---: | ---: |\n")
	for _, t := range slices.Concat(fitted, held) {
		fmt.Fprintf(b, "| %s | %.1f ms | %.1f ms | %+.0f %% |\n", t.id, 1e3*t.estimated, 1e3*t.true, 100*t.off())
	}
}

// writeRepeated compares two measurements of the same runs with each other, and the estimates with their mean.
func writeRepeated(b *strings.Builder, all, held, again []timed) {
	second := map[string]float64{}
	for _, t := range again {
		second[t.id] = t.true
	}
	all = slices.DeleteFunc(all, func(t timed) bool { return second[t.id] == 0 })
	of := func(all []timed, change func(timed) timed) (out []timed) {
		for _, t := range all {
			out = append(out, change(t))
		}
		return out
	}
	first := func(t timed) timed { return timed{t.id, t.true, second[t.id]} }
	mean := func(t timed) timed { return timed{t.id, t.estimated, (t.true + second[t.id]) / 2} }
	fmt.Fprintf(b, "\nSteps that are limited by the CPU take longer on some days than on others. %d of these runs were timed again. If the first measurement is\n"+
		"taken as an estimate of the second, %s. snug's estimates, compared with the\n"+
		"mean of both measurements: on the %d runs that were not used for fitting, %s; on all %d, %s.\n",
		len(all), summary(of(all, first)), len(held), summary(of(held, mean)), len(all), summary(of(all, mean)))
}

// timedOf returns the cases from files that were made to measure times.
func timedOf(cases []Case) (out []timed) {
	for i := range cases {
		c := &cases[i]
		if strings.HasSuffix(c.File, "_time.jsonl") && c.Estimated != nil && c.Estimated.StepSeconds > 0 && len(c.Seconds()) > warmUp {
			out = append(out, timed{c.Setup.ID, c.Estimated.StepSeconds, median(c.Seconds()[warmUp:])})
		}
	}
	return out
}

// summary describes how far off the estimated times are.
func summary(all []timed) string {
	var abs []float64
	for _, t := range all {
		abs = append(abs, math.Abs(t.off()))
	}
	slices.Sort(abs)
	return fmt.Sprintf("the median error is %s, nine in ten are within %s, and the rank correlation is %.3f",
		percent(abs[len(abs)/2]), percent(abs[len(abs)*9/10]), rankCorrelation(all))
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
