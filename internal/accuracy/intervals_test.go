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

// Intervals contain nine in ten of the measured runs that they were not made from: for every card, family
// and option, without the run itself and without its family.
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
		for _, h := range heldBy(all, k.names) {
			if least := min(h.Itself, h.Family); 10*least < 9*h.Runs {
				t.Errorf("%s %s: %d of %d are held", k.name, h.Name, least, h.Runs)
			}
		}
	}
}

// A run that was made twice is judged by neither.
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

// On a card of which some kernel's needs are not known, every run that uses the kernel
// has a wider interval, as a share of its estimate, than on the card of the
// measurements. Runs in float16 are left out: a third of the peak may be missing where
// updates are, and how much that is differs by card as well.
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
				t.Errorf("%s on %s: %.4f wide, and %.4f where it was measured", c.ID(), name, far, near)
			}
		}
	}
	if lacking < 40 {
		t.Errorf("only %d runs use a kernel that is not known", lacking)
	}
}

func opens(a *estimate.Answer, what estimate.Unknown) bool {
	return slices.ContainsFunc(a.Uncertain, func(o estimate.Uncertainty) bool { return o.What == what })
}

// width is that of an interval, as a share of the estimate.
func width(a *estimate.Answer) float64 {
	return float64(a.Interval[1]-a.Interval[0]) / float64(a.PeakReserved)
}
