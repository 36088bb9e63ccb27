// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"snug/internal/estimate"
	"snug/internal/gpu"
)

// TestIntervalsHoldOutOfSample checks that intervals contain nine in ten of the measured runs that they were not
// derived from: for every card, family and option, without the run itself and without its family. One run may be outside in a
// group of fewer than ten, which cannot show nine in ten.
func TestIntervalsHoldOutOfSample(t *testing.T) {
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	rows, err := loadAll(os.DirFS("../../testdata/measured"), append(names, intervalsOnly...)...)
	if err != nil {
		t.Fatal(err)
	}
	all := judge((&Report{Cases: Compare(rows)}).judged())
	if len(all) < 480 {
		t.Errorf("only %d runs were judged", len(all))
	}
	for _, k := range kinds {
		for _, h := range coverageBy(all, k.names) {
			if least := min(h.Itself, h.Family); 10*least < 9*h.Runs && h.Runs-least > 1 {
				t.Errorf("%s %s: only %d of %d are inside", k.name, h.Name, least, h.Runs)
			}
		}
	}
}

// TestJudgedWithoutItsRepeats checks that the interval for a run that was measured twice is derived from neither
// measurement.
func TestJudgedWithoutItsRepeats(t *testing.T) {
	rows, err := loadAll(os.DirFS("../../testdata/measured"), "dev_dist.jsonl", "more_dist.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases := (&Report{Cases: Compare(rows)}).judged()
	for _, c := range cases {
		name, again, _ := strings.Cut(c.ID(), "-again")
		if again == "" {
			continue
		}
		for _, o := range cases {
			if other, _, _ := strings.Cut(o.ID(), "-again"); c.again(o) != (other == name) {
				t.Errorf("%s and %s: again is %v", c.ID(), o.ID(), c.again(o))
			}
		}
	}
}

// TestUnknownKernelsWidenEveryRun checks that on a card for which the memory of some kernel is unknown, every run
// that uses the kernel has a wider interval, as a share of its estimate, than on the measured card. Runs in
// float16 are excluded, because skipped updates may lower the peak by a third, and by a different share on each
// card.
func TestUnknownKernelsWidenEveryRun(t *testing.T) {
	rows, err := Load(os.DirFS("../../testdata/measured"), devFile)
	if err != nil {
		t.Fatal(err)
	}
	lacking := 0
	for _, name := range []string{"A100-80GB", "RTX-4090"} {
		card, err := gpu.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		there := slices.Clone(rows)
		for i := range there {
			there[i].Card = card
		}
		here := Compare(rows)
		for i, c := range Compare(there) {
			if c.Estimated == nil || !opens(c.Estimated, estimate.Kernels) || opens(c.Estimated, estimate.Updates) {
				continue
			}
			lacking++
			if far, near := width(c.Estimated), width(here[i].Estimated); far <= near {
				t.Errorf("%s on %s: width %.4f, want more than %.4f as on the measured card", c.ID(), name, far, near)
			}
		}
	}
	if lacking < 40 {
		t.Errorf("only %d runs use an unknown kernel", lacking)
	}
}

func opens(a *estimate.Answer, what estimate.Unknown) bool {
	return slices.ContainsFunc(a.Uncertain, func(o estimate.Uncertainty) bool { return o.What == what })
}

// width returns the width of an interval, as a share of the estimate.
func width(a *estimate.Answer) float64 {
	return float64(a.Interval[1]-a.Interval[0]) / float64(a.PeakReserved)
}
