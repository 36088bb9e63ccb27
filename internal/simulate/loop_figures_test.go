// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"snug/internal/setup"
)

// loopFigures holds the errors of a group of programs.
type loopFigures struct {
	runs, refused, noted int
	off                  []float64 // percent of the measured reserved bytes, largest last
	under                float64   // the largest underestimate without a note
	lowest               float64   // the largest underestimate of all
}

// Limits for every program by other authors, with or without a note: the largest error, and the largest
// underestimate.
const (
	worstLimit  = 5.0
	lowestLimit = 2.0
)

// limits bounds the errors of each folder's programs.
var limits = map[string]struct {
	within float64 // percent within which nine in ten programs must be
	under  float64 // largest underestimate without a note, in percent
}{
	"plain": {0.01, 0.01}, "trainer": {0.02, 0.01}, "accelerate": {0.02, 0.02}, "lightning": {0.02, 0.02}, "fabric": {0.02, 0.02},
	"timm": {0.02, 0.02}, "sentence_transformers": {0.02, 0.02}, "torchtune": {0.8, 0.02}, "trl": {0.2, 0.05}, "objectives": {0.7, 0.9}, "wild": {0.2, 0.2}, "wild2": {0.3, 0.25},
	"wild3": {1, 21}, "more": {5, 0.2},
}

// TestLoopFigures prints the table of docs/loops.md and checks it against the limits.
func TestLoopFigures(t *testing.T) {
	all := map[string]*loopFigures{}
	for _, file := range []string{"measured_plain.jsonl", "measured_libraries.jsonl", "measured_trainer.jsonl", "measured_wild.jsonl"} {
		for _, p := range programs(t, file) {
			folder, _, _ := strings.Cut(p.Program, "/")
			if _, counted := limits[folder]; counted && p.models(t) {
				f := cmp.Or(all[folder], &loopFigures{})
				all[folder] = f
				f.add(t, p.setup(t), p.Measured.Reserved)
			}
		}
	}
	all["more"] = &loopFigures{}
	for _, p := range programs(t, "measured_more.jsonl") {
		all["more"].add(t, p.setup(t), p.Measured.Reserved)
	}
	all["objectives"] = &loopFigures{}
	for _, p := range programs(t, "measured_objectives.jsonl") {
		all["objectives"].add(t, p.setup(t), p.Measured.Reserved)
	}
	all["wild2"] = &loopFigures{}
	for _, p := range sizedPrograms(t, "measured_wild2.jsonl") {
		all["wild2"].add(t, p.setup(t), p.Measured.Reserved)
	}
	all["wild3"] = &loopFigures{}
	for _, p := range standinPrograms(t, "measured_wild3.jsonl") {
		all["wild3"].add(t, p.setup(t), p.Measured.Reserved)
	}
	table := &strings.Builder{}
	fmt.Fprintln(table, "| programs | runs | not simulated | with notes | median | nine in ten within | worst | largest underestimate without a note |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, folder := range []string{"plain", "trainer", "accelerate", "lightning", "fabric", "trl", "objectives", "timm", "torchtune", "sentence_transformers", "wild", "wild2", "wild3", "more"} {
		f := all[folder]
		slices.Sort(f.off)
		fmt.Fprintf(table, "| %s | %d | %d | %d | %.2f %% | %.2f %% | %.2f %% | %.2f %% |\n", folder, f.runs, f.refused, f.noted, f.at(0.5), f.at(0.9), f.at(1), f.under)
		if b := limits[folder]; f.at(0.9) > b.within || f.under > b.under {
			t.Errorf("%s: nine in ten within %.2f %%, %.2f %% under; the limits are %v", folder, f.at(0.9), f.under, b)
		}
		if folder != "more" && folder != "wild3" && (f.at(1) > worstLimit || f.lowest > lowestLimit) {
			t.Errorf("%s: the worst is off by %.2f %%, %.2f %% under; the limits are %v and %v", folder, f.at(1), f.lowest, worstLimit, lowestLimit)
		}
	}
	t.Log("\n" + table.String())
	doc, err := os.ReadFile("../../docs/loops.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), table.String()) {
		t.Error("docs/loops.md has a different table; replace it with this one")
	}
}

// models reports whether a family covers the program's model. No family covers timm's transformers.
func (p program) models(t *testing.T) bool {
	return !strings.HasPrefix(p.Program, "timm/") || strings.Contains(p.ID, "resnet")
}

// add adds the error of one program.
func (f *loopFigures) add(t *testing.T, s *setup.Setup, reserved uint64) {
	f.runs++
	res, err := Run(s, Options{})
	if err != nil {
		f.refused++
		return
	}
	off := 100 * (float64(played(t, res).PeakReserved)/float64(reserved) - 1)
	f.off = append(f.off, math.Abs(off))
	f.lowest = max(f.lowest, -off)
	if len(s.Script.Notes()) > 0 {
		f.noted++
	} else {
		f.under = max(f.under, -off)
	}
}

// at returns a quantile of the errors.
func (f *loopFigures) at(q float64) float64 {
	if len(f.off) == 0 {
		return math.Inf(1)
	}
	return f.off[int(q*float64(len(f.off)-1))]
}
