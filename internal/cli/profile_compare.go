// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/setup"
)

// comparison is a measured run beside its estimate.
type comparison struct {
	setup    *setup.Setup
	fields   map[string]any // the setup as it was written, with the run's size
	estimate *estimate.Answer
	lines    []compared
}

// compared is one figure, in bytes.
type compared struct {
	Name      string `json:"name"`
	Measured  uint64 `json:"measured"`
	Estimated uint64 `json:"estimated"`
}

// compare estimates every size that was measured, where a setup says what runs.
// What cannot be estimated is a note: the measurement stands.
func (p *profiling) compare() {
	if p.options.setup == "" && p.base == nil {
		return
	}
	for _, r := range p.runs {
		c, err := p.estimateOf(r)
		if err != nil {
			p.note("no estimate%s: %v", named(r.at), err)
			continue
		}
		r.compared = c
	}
}

// estimateOf estimates the setup at a run's size, on its card and versions.
func (p *profiling) estimateOf(r *measuredRun) (*comparison, error) {
	read := p.setupOf
	if p.base != nil {
		read = p.sized
	}
	over := overrides(r.at, r.rank)
	if steps := r.rank.Steps; p.base != nil && steps[len(steps)-1].Backwards > 0 {
		over["accumulation"], over["steps"] = float64(steps[len(steps)-1].Backwards), float64(len(steps))
	}
	s, fields, err := read(over)
	if err != nil {
		return nil, err
	}
	card, err := gpu.Find(r.rank.GPU.Name)
	if err != nil {
		card = gpu.ForMemory(r.rank.GPU.Total)
	}
	a, err := estimate.Estimate(s, card)
	if err != nil {
		return nil, err
	}
	return &comparison{s, fields, a, compareLines(r.rank, a)}, nil
}

// readSetup reads the one setup of --setup, before anything runs: a mistake in it
// would otherwise show afterwards. A model that no family covers is no mistake.
func (p *profiling) readSetup() error {
	name := p.options.setup
	in, err := p.env.open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	if name == "-" {
		name = "standard input"
	}
	raws, err := setup.Read(in)
	switch {
	case err != nil:
		return fmt.Errorf("reading %s: %w", name, reason(err))
	case len(raws) != 1:
		return fmt.Errorf("%s holds %d setups; give one", name, len(raws))
	case raws[0].Err != nil:
		return fmt.Errorf("%s:%w", name, raws[0].Err)
	}
	p.raw = raws[0].Fields
	if _, _, err := p.setupOf(overrides(p.sizes[0], &run.Report{})); err != nil && !errors.Is(err, setup.ErrUnknownModel) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// setupOf reads the setup with some of its fields overridden.
func (p *profiling) setupOf(over map[string]any) (*setup.Setup, map[string]any, error) {
	from := setup.Source{Open: p.env.find, Hub: hub(p.env.Getenv), Base: filepath.Dir(p.options.setup)}
	fields := lay(over, p.raw)
	out, err := setup.Decode(fields, from)
	return out, fields, err
}

// overrides is what the run says of the setup: its size and versions.
func overrides(at profile.Point, x *run.Report) map[string]any {
	out := map[string]any{}
	for name, n := range at {
		out[name] = float64(n)
	}
	versions := map[string]any{}
	for _, name := range []string{"torch", "transformers", "cuda"} {
		if v, _, _ := strings.Cut(x.Versions[name], "+"); v != "" {
			versions[name] = v
		}
	}
	out["versions"] = versions
	return out
}

// compareLines lays measured and estimated figures side by side: what stays
// from step to step one by one, what comes and goes (gradients too, of which
// some are there at the peak) as a sum.
func compareLines(x *run.Report, a *estimate.Answer) []compared {
	c := a.Components
	var out []compared
	if s := x.State; s != nil {
		kept := s.Parameters + s.Buffers
		out = append(out,
			compared{"parameters", kept, c.Parameters},
			compared{"optimizer", s.Optimizer, c.Optimizer},
			compared{"all else at the peak", above(x.PeakAllocated(), kept+s.Optimizer), above(a.PeakAllocated, c.Parameters+c.Optimizer)})
	}
	return append(out,
		compared{"peak allocated", x.PeakAllocated(), a.PeakAllocated},
		compared{"peak reserved", x.PeakReserved(), a.PeakReserved})
}

func above(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
