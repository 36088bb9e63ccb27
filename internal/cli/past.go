// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/store"
)

// past is what was measured on this machine before. A nil one knows nothing:
// estimates never wait for a database that is not there, nor fail for one.
type past struct {
	mu    sync.Mutex // estimates are made several at a time
	store *store.Store
	lost  bool // it could not be read once, and is not asked again
}

// aMoment is how long an estimate waits for a store that another process writes;
// to write takes a few milliseconds.
const aMoment = 25 * time.Millisecond

// openPast opens the store where there is one and a card that rows can be for.
func openPast(env Env, card string) *past {
	path := store.Path(env.Getenv)
	if card == "" || !store.Exists(path) {
		return nil
	}
	s, err := store.Read(path, aMoment)
	if err != nil {
		return nil
	}
	return &past{store: s}
}

func (p *past) close() {
	if p != nil {
		_ = p.store.Close()
	}
}

// alike is how far off estimates of such runs have been on a card of this machine;
// nil where too few were measured. What is off in one process says nothing about a
// run over several GPUs. All commands ask here, so that they say the same.
func (p *past) alike(s *setup.Setup, card gpu.Card, torch string) *estimate.Range {
	if p == nil || s.Dist != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost {
		return nil
	}
	r, ok, err := p.store.Alike(card.Name, torch, s.Model.Family())
	if p.lost = err != nil; p.lost || !ok {
		return nil
	}
	return &estimate.Range{Cases: r.Cases, Low: r.Low, High: r.High}
}

// calibrate gives an estimate the interval that runs here support.
func (p *past) calibrate(a *estimate.Answer, card gpu.Card) {
	if a == nil {
		return
	}
	if r := p.alike(a.Setup, card, torchOf(a.Setup)); r != nil {
		a.Calibrate(*r)
	}
}

func torchOf(s *setup.Setup) string {
	if s.Versions.Torch != "" {
		return s.Versions.Torch
	}
	return setup.NewestTorch
}

// remember keeps what was measured. That it cannot is worth a note, no more.
func (p *profiling) remember() {
	s, err := store.Open(store.Path(p.env.Getenv))
	if err == nil {
		defer s.Close()
		var rows []store.Run
		for _, r := range p.runs {
			rows = append(rows, p.row(r))
		}
		err = s.Add(rows...)
	}
	if err != nil {
		p.note("not remembered for later: %v", err)
	}
}

// row is a measured run as the store keeps it.
func (p *profiling) row(r *measuredRun) store.Run {
	x := r.rank
	row := store.Run{
		Card: cardOf(x), Torch: plainVersion(x.Versions["torch"]), CUDA: x.Versions["cuda"], Model: p.commandKept(),
		Size: r.at.String(), Allocated: x.PeakAllocated(), Reserved: x.PeakReserved(),
	}
	if !p.options.stacks { // with them a step takes longer than it would
		row.StepSeconds = x.StepSeconds()
	}
	if c := r.compared; c != nil {
		row.Family, row.Model, row.Predicted = c.setup.Model.Family(), c.setup.Model.Title(), c.estimate.PeakReserved
		if text, err := json.Marshal(c.fields); err == nil {
			row.Setup = string(text)
		}
	}
	return row
}

// cardOf is the card as the catalogue names it, or as its driver does.
func cardOf(x *run.Report) string {
	if x.GPU == nil {
		return ""
	}
	if c, err := gpu.Find(x.GPU.Name); err == nil {
		return c.Name
	}
	return x.GPU.Name
}

func plainVersion(v string) string {
	v, _, _ = strings.Cut(v, "+")
	return v
}
