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
	"snug/internal/units"
)

// peaksFile contains peaks that others have published, with their sources.
const peaksFile = "published_peaks.jsonl"

// publishedPeak is a run whose peak others have published.
type publishedPeak struct {
	ID     string         `json:"id"`
	Source string         `json:"source"` // who published it
	URL    string         `json:"url"`    // where
	GPU    string         `json:"gpu"`
	Kind   string         `json:"kind"` // what was measured: allocated, reserved, or device (all memory in use on the card)
	Bytes  uint64         `json:"bytes"`
	Within float64        `json:"within"` // the largest error that the test accepts
	Setup  map[string]any `json:"setup"`

	off float64 // estimated peak / published peak - 1
}

// comparePeaks reads the published peaks and estimates each run.
func comparePeaks(measured fs.FS) ([]publishedPeak, error) {
	all, err := lines[publishedPeak](measured, peaksFile)
	for i := range all {
		if err := all[i].compare(); err != nil {
			return nil, fmt.Errorf("%s: %w", all[i].ID, err)
		}
	}
	return all, err
}

// compare estimates the run's peak and sets its error.
func (p *publishedPeak) compare() error {
	card, err := gpu.Find(p.GPU)
	if err != nil {
		return err
	}
	s, err := setup.Decode(p.Setup, setup.Source{})
	if err != nil {
		return err
	}
	a, err := estimate.Figures(s, card)
	if err != nil {
		return err
	}
	estimated, known := map[string]uint64{"allocated": a.PeakAllocated, "reserved": a.PeakReserved, "device": a.DevicePeak}[p.Kind]
	if !known || p.Bytes == 0 {
		return fmt.Errorf("%d bytes of %q memory cannot be compared", p.Bytes, p.Kind)
	}
	p.off = off(estimated, p.Bytes)
	return nil
}

// peaks writes the errors of the published peaks: a summary by source, then every run.
func (r *Report) peaks(b *strings.Builder) {
	if len(r.Peaks) == 0 {
		return
	}
	var errs []float64
	sources := map[string][]float64{}
	for _, p := range r.Peaks {
		errs = append(errs, math.Abs(p.off))
		sources[p.Source] = append(sources[p.Source], p.off)
	}
	within := func(limit float64) (n int) {
		for _, e := range errs {
			if e <= limit {
				n++
			}
		}
		return n
	}
	fmt.Fprintf(b, "\n## Peaks that others have published\n\nNone of these runs were measured by us: %d runs from %d sources (`%s`), on other cards and with older versions of PyTorch\n"+
		"and transformers. Only sources that describe their runs completely, or publish the code that they ran, are listed. The median error is %s; %d are within\n"+
		"0.1 %%, %d within 2 %% and %d within 5 %%. \"Device\" is all memory in use on the card, as `nvidia-smi` shows it.\n\n"+
		"| source | runs | median error | worst |\n| --- | ---: | ---: | ---: |\n", len(r.Peaks), len(sources), peaksFile, percent(median(errs)), within(0.001), within(0.02), within(0.05))
	for _, g := range bySource(sources) {
		fmt.Fprintf(b, "| %s | %d | %s | %s |\n", g.Name, g.Cases, percent(g.Median), signed(g.Worst))
	}
	b.WriteString("\n| run | card | published | | error |\n| --- | --- | ---: | --- | ---: |\n")
	for _, p := range r.Peaks {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", p.ID, p.GPU, units.Bytes(p.Bytes), p.Kind, signed(p.off))
	}
}

// bySource summarizes the errors of each source, the one with the most runs first.
func bySource(sources map[string][]float64) (out []Group) {
	for name, errs := range sources {
		out = append(out, Group{Name: name, Stats: summarize(errs)})
	}
	slices.SortFunc(out, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Cases, a.Cases), cmp.Compare(a.Name, b.Name)) })
	return out
}
