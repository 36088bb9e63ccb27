// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

// recordedLeaks are the recordings that end because memory runs out.
var recordedLeaks = []string{"leak_graph", "leak_outputs", "leak_slow", "staircase", "watched_leak_0005", "watched_leak_001", "watched_leak_004", "watched_ragged_leak"}

// needs returns the share of the steps left by which the ends of a run's forecasts have to be moved so that all of them
// contain the step at which memory ran out; and how many of them do not contain it as they are.
func needs(t *testing.T, name string) (margin float64, missed int) {
	t.Helper()
	events := recording(t, name)
	failed := 0
	for _, e := range events {
		if e.Kind == KindStep {
			failed = e.Step.N + 1
		}
	}
	w := New(Options{})
	for _, e := range events {
		r, _ := w.Add(e)
		if e.Kind != KindStep || r.StepsToOOM == nil {
			continue
		}
		left, low, high := float64(failed-r.Step), float64(r.StepsToOOM[0]), float64(r.StepsToOOM[2])
		if left < low || left > high {
			missed++
		}
		margin = max(margin, 1-left/(low/(1-mayBeOff)), left/(high/(1+mayBeOff))-1)
	}
	return margin, missed
}

// TestForecastsHold checks that the stated interval contains the step at which memory runs out, in every reading of every
// recorded leak. The margin is judged by leaving one out: what the others need, rounded up to 5 %, is enough for each.
func TestForecastsHold(t *testing.T) {
	margins := map[string]float64{}
	for _, name := range recordedLeaks {
		margin, missed := needs(t, name)
		if missed > 0 {
			t.Errorf("%s: %d forecasts miss the step", name, missed)
		}
		margins[name] = margin
	}
	for name, own := range margins {
		others := 0.0
		for other, m := range margins {
			if other != name {
				others = max(others, m)
			}
		}
		rounded := math.Ceil(others*20) / 20
		t.Logf("%s: needs %.1f %%, the others need %.1f %%", name, 100*own, 100*others)
		if own > rounded || rounded != mayBeOff {
			t.Errorf("%s needs %.1f %%; the others need %.1f %%, rounded to %.0f %%, and the margin is %.0f %%", name, 100*own, 100*others, 100*rounded, 100*mayBeOff)
		}
	}
}

// TestForecastsInDocs checks that docs/watch.md has the forecasts of the recordings.
func TestForecastsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/watch.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, run string }{
		{"watched_leak_0005", "a leak of 0.05 % of the cap per step"},
		{"watched_leak_001", "a leak of 0.1 %"},
		{"watched_leak_004", "a leak of 0.4 %"},
		{"watched_ragged_leak", "a leak of 0.1 % with varying lengths"},
	} {
		events := recording(t, c.name)
		last := 0
		for _, e := range events {
			if e.Kind == KindStep {
				last = e.Step.N
			}
		}
		w, seen, half := New(Options{}), 0, ""
		for _, e := range events {
			r, _ := w.Add(e)
			if r.State == Leaking && seen == 0 {
				seen = r.Step
			}
			if e.Kind == KindStep && r.Step == (last+1)/2 {
				half = fmt.Sprintf("%s to %s", thousands(r.Step+r.StepsToOOM[0]), thousands(r.Step+r.StepsToOOM[2]))
			}
		}
		row := fmt.Sprintf("| %s | leaking | %d | %s | %s |\n", c.run, seen, thousands(last+1), half)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/watch.md lacks this row:\n%s", row)
		}
	}
}

// thousands returns a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
