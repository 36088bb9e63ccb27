// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// tuneRow is a row of testdata/tune/h200.jsonl: a run of snug tune, a run of the sweep, a batch-size finder or a case.
type tuneRow struct {
	Tune, Sweep, Finder, Example, Name, Outcome string
	Cap                                         float64
	Effective, Batch, Accumulation              int
	Checkpointing                               *bool
	Early                                       bool
	Rate                                        float64 `json:"samples_per_second"`
	Reserved                                    int64
	Seconds                                     float64
	Trials, Recordings                          int
	Tried                                       []int
	Found                                       *struct {
		Batch, Accumulation int
		Checkpointing       *bool
	}
}

// TestMeasuredTune checks the tables of docs/tune.md and examples/README.md against the measurements.
func TestMeasuredTune(t *testing.T) {
	var rows []tuneRow
	for line := range strings.Lines(page(t, "testdata/tune/h200.jsonl")) {
		var r tuneRow
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	var tunes, finders []string
	examples := page(t, "examples/README.md")
	for _, r := range rows {
		switch {
		case r.Tune != "":
			tunes = append(tunes, tuneLine(r, bestSwept(rows, r.Tune, r.Cap)))
		case r.Finder != "":
			tried := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Tried), "[]"), " ", ", ")
			finders = append(finders, fmt.Sprintf("| %s | %s | %d | %.0f | %d | %.0f |", r.Finder, tried, r.Trials, r.Seconds, r.Batch, r.Rate))
		case r.Name == "as shipped":
			want := fmt.Sprintf("(../docs/seeds/%s.md) | batch %d: %.2f GiB, ", r.Example, r.Batch, float64(r.Reserved)/(1<<30))
			if !strings.Contains(examples, want) {
				t.Errorf("examples/README.md does not say %q", want)
			}
		}
	}
	sameTable(t, "### Compared with a sweep", tunes)
	sameTable(t, "### Compared with batch-size finders", finders)
}

// bestSwept returns the fastest run of a sweep under a cap.
func bestSwept(rows []tuneRow, example string, limit float64) (best tuneRow) {
	for _, r := range rows {
		if r.Sweep == example && r.Cap == limit && r.Outcome == "fits" && !r.Early && r.Rate > best.Rate {
			best = r
		}
	}
	return best
}

// tuneLine returns the line of a run of snug tune in docs/tune.md.
func tuneLine(r, best tuneRow) string {
	found, rate, trials, recordings, share := "none: error", "–", "–", "–", "–"
	if r.Found != nil {
		found = tuneSettings(r.Found.Batch, r.Found.Accumulation, r.Found.Checkpointing)
		rate, trials, recordings = fmt.Sprintf("%.0f", r.Rate), strconv.Itoa(r.Trials), strconv.Itoa(r.Recordings)
		share = fmt.Sprintf("%.1f %%", 100*r.Rate/best.Rate)
	}
	swept := tuneSettings(best.Batch, best.Accumulation, best.Checkpointing)
	return fmt.Sprintf("| %s | %.0f GiB | %s | %s | %s | %s | %.0f | %s: %.0f | %s |", r.Tune, r.Cap, found, rate, trials, recordings, r.Seconds, swept, best.Rate, share)
}

func tuneSettings(batch, accumulation int, checkpointing *bool) string {
	text := fmt.Sprintf("%d × %d", batch, accumulation)
	if checkpointing != nil && !*checkpointing {
		text += ", no checkpointing"
	}
	return text
}

// sameTable checks that the table below a heading of docs/tune.md has exactly these lines.
func sameTable(t *testing.T, heading string, want []string) {
	t.Helper()
	_, text, _ := strings.Cut(page(t, "docs/tune.md"), heading+"\n")
	text, _, _ = strings.Cut(text, "\n#")
	var got []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	got = got[min(2, len(got)):]
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("docs/tune.md, %q: got\n%s\nwant\n%s", heading, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
