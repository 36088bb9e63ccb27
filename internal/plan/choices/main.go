// SPDX-License-Identifier: Apache-2.0

// Command choices prints what `snug optimize` recommends for a few runs under a memory limit, and every alternative
// it considered, as cases for the harness in testdata/measured. Measuring the cases on a real GPU shows how close
// the recommendation comes to the best throughput.
//
//	go run ./internal/plan/choices > cases.jsonl
//	go run ./internal/plan/choices second > cases.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
	"snug/internal/units"
)

func main() {
	log.SetFlags(0)
	out := bufio.NewWriter(os.Stdout)
	enc := json.NewEncoder(out)
	asked := runs
	if len(os.Args) > 1 && os.Args[1] == "second" {
		asked = second
	}
	for _, r := range asked {
		cases, err := r.cases()
		if err != nil {
			log.Fatalf("%s: %v", r.name, err)
		}
		for _, c := range cases {
			if err := enc.Encode(c); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}

// choice is one way to run: a case for the harness, with snug's expectations.
type choice struct {
	Case        map[string]any `json:"case"`
	Run         string         `json:"run"`
	Recommended bool           `json:"recommended"`
	Fits        bool           `json:"fits"`               // in the simulation
	Expected    float64        `json:"samples_per_second"` // in the simulation
	Reserved    uint64         `json:"peak_reserved"`      // in the simulation; only for the recommended choice
}

// cases returns the recommended choice, followed by all others that could possibly fit.
func (r run) cases() ([]choice, error) {
	s, err := r.setup()
	if err != nil {
		return nil, err
	}
	p, err := plan.Search(plan.Request{Setup: s, Card: gpu.Reference})
	if err != nil {
		return nil, err
	}
	if p.Recommended == nil {
		return nil, fmt.Errorf("nothing fits %v", units.Bytes(s.Limit))
	}
	best := p.Recommended.Estimate.Setup
	out := []choice{{r.harness(best), r.name, true, true, p.Recommended.SamplesPerSecond, p.Recommended.Estimate.PeakReserved}}
	for _, x := range r.grid(s) {
		c, possible, err := r.choice(x)
		if err != nil {
			return nil, err
		}
		if possible && !same(x, best) {
			out = append(out, c)
		}
	}
	return out, nil
}

// grid returns every split of the effective batch, with and without checkpointing, with each variant of the
// optimizer, and with expandable segments.
func (r run) grid(s *setup.Setup) []*setup.Setup {
	var out []*setup.Setup
	effective := s.Batch * s.Accumulation
	for batch := 1; batch <= effective; batch++ {
		if effective%batch != 0 {
			continue
		}
		for _, optimizer := range r.optimizers {
			for _, checkpointing := range r.checkpointing {
				for _, allocator := range []string{"", "expandable_segments:True"} {
					x := *s
					x.Batch, x.Accumulation = batch, effective/batch
					x.Optimizer, x.Checkpointing, x.Allocator = optimizer, checkpointing, allocator
					out = append(out, &x)
				}
			}
		}
	}
	return out
}

func same(a, b *setup.Setup) bool {
	return a.Batch == b.Batch && a.Optimizer == b.Optimizer && a.Checkpointing == b.Checkpointing && a.Allocator == b.Allocator
}

// choice returns a setup as a choice, and whether it is worth measuring. It is not if its tensors alone exceed the
// cap, or if it has expandable segments but fits without them.
func (r run) choice(x *setup.Setup) (choice, bool, error) {
	p, err := estimate.NewProbe(x, gpu.Reference)
	if err != nil {
		return choice{}, false, err
	}
	v, err := p.Within(x.Limit, x.Allocator)
	if err != nil {
		return choice{}, false, err
	}
	seconds := p.Seconds(gpu.Reference, x.Accumulation)
	c := choice{r.harness(x), r.name, false, v.Fits, float64(x.Batch*x.Accumulation) / seconds, 0}
	peaks, err := p.Peaks()
	if err != nil {
		return choice{}, false, err
	}
	possible := float64(peaks.Allocated) < 1.02*float64(x.Limit)
	if x.Allocator != "" {
		plain, err := p.Within(x.Limit, "")
		possible = possible && err == nil && !plain.Fits
	}
	return c, possible, nil
}
