// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// speedsFile contains speeds that others have published, with their sources.
const speedsFile = "published_speeds.jsonl"

// publishedSpeed is a run whose speed others have published.
type publishedSpeed struct {
	ID         string         `json:"id"`
	Source     string         `json:"source"` // who published it
	URL        string         `json:"url"`    // where
	GPU        string         `json:"gpu"`
	Setup      map[string]any `json:"setup"` // the run, as far as the source describes it
	Throughput struct {
		Value float64 `json:"value"`
		Unit  string  `json:"unit"`
	} `json:"throughput"`

	off float64 // estimated speed / published speed - 1
}

// compareSpeeds reads the published speeds and estimates each run.
func compareSpeeds(measured fs.FS) ([]publishedSpeed, error) {
	all, err := lines[publishedSpeed](measured, speedsFile)
	for i := range all {
		if err := all[i].compare(); err != nil {
			return nil, err
		}
	}
	return all, err
}

// compare estimates the run's speed and sets its error.
func (p *publishedSpeed) compare() error {
	card, err := gpu.Find(p.GPU)
	if err != nil {
		return fmt.Errorf("%s: %w", p.ID, err)
	}
	s, err := setup.Decode(p.Setup, setup.Source{})
	if err != nil {
		return fmt.Errorf("%s: %w", p.ID, err)
	}
	a, err := estimate.Figures(s, card)
	if err != nil {
		return fmt.Errorf("%s: %w", p.ID, err)
	}
	samples := float64(s.Batch * s.Accumulation)
	seconds := map[string]float64{ // per step
		"tokens/s/gpu":  samples * float64(s.Seq) / p.Throughput.Value,
		"samples/s/gpu": samples / p.Throughput.Value,
		"s/step":        p.Throughput.Value,
		"ms/step":       p.Throughput.Value / 1000,
	}[p.Throughput.Unit]
	if seconds == 0 || a.StepSeconds == 0 {
		return fmt.Errorf("%s: no step time from %v %s and an estimate of %v s", p.ID, p.Throughput.Value, p.Throughput.Unit, a.StepSeconds)
	}
	p.off = seconds/a.StepSeconds - 1
	return nil
}

// writeSpeeds writes the errors of the estimated speeds, by source.
func writeSpeeds(b *strings.Builder, all []publishedSpeed) {
	if len(all) == 0 {
		return
	}
	sources, cards := map[string][]publishedSpeed{}, map[string]bool{}
	for _, p := range all {
		sources[p.Source] = append(sources[p.Source], p)
		cards[p.GPU] = true
	}
	fmt.Fprintf(b, "\nFor other cards there are only published speeds: %d runs from %d sources on %d cards (`%s`), from READMEs, documentation\n"+
		"and benchmark tables. They describe their runs only in part; the rest was assumed. No constant was fitted to them, but they\n"+
		"showed which rules were missing. The median error is %s. If the error is positive, the estimate is too fast.\n\n"+
		"| source | runs | cards | median error | from | to |\n| --- | ---: | --- | ---: | ---: | ---: |\n", len(all), len(sources), len(cards), speedsFile, percent(medianOff(all)))
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(sources[b]), len(sources[a])), cmp.Compare(a, b))
	})
	for _, name := range names {
		of := sources[name]
		slices.SortStableFunc(of, func(a, b publishedSpeed) int { return cmp.Compare(a.off, b.off) })
		var on []string
		for _, p := range of {
			on = append(on, p.GPU)
		}
		slices.Sort(on)
		fmt.Fprintf(b, "| %s | %d | %s | %s | %+.0f %% | %+.0f %% |\n", name, len(of), strings.Join(slices.Compact(on), ", "), percent(medianOff(of)), 100*of[0].off, 100*of[len(of)-1].off)
	}
}

// medianOff returns the median absolute error.
func medianOff(all []publishedSpeed) float64 {
	var out []float64
	for _, p := range all {
		out = append(out, math.Abs(p.off))
	}
	return median(out)
}
