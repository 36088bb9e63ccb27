// SPDX-License-Identifier: Apache-2.0

package record

import (
	"sync"
	"time"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/store"
)

// Past is what was measured on this machine before. A nil Past is empty, so estimates neither wait for a missing
// database nor fail because of it.
type Past struct {
	mu         sync.Mutex // estimates run concurrently
	store      *store.Store
	unreadable bool // reading failed once and is not tried again
}

// storeWait is how long an estimate waits while another process writes to the store, which takes a few milliseconds.
const storeWait = 25 * time.Millisecond

// OpenPast opens the store at a path for queries about a card. It returns nil if there is no store or no card.
func OpenPast(path, card string) *Past {
	if card == "" || !store.Exists(path) {
		return nil
	}
	s, err := store.Read(path, storeWait)
	if err != nil {
		return nil
	}
	return &Past{store: s}
}

// Close closes the store.
func (p *Past) Close() {
	if p != nil {
		_ = p.store.Close()
	}
}

// Residual returns the range of errors of similar estimates for this machine's card; nil if too few runs were
// measured. All commands use it, so that they agree.
func (p *Past) Residual(s *setup.Setup, card gpu.Card) *estimate.Range {
	torch := s.Versions.Torch
	if torch == "" {
		torch = setup.NewestTorch
	}
	return p.residual(s, card, torch)
}

// residual is Residual for one PyTorch version. It is nil for a run on several GPUs: errors of one-GPU runs do not
// apply to it.
func (p *Past) residual(s *setup.Setup, card gpu.Card, torch string) *estimate.Range {
	if p == nil || s.Dist != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unreadable {
		return nil
	}
	r, ok, err := p.store.Alike(card.Name, torch, s.Model.Family())
	if p.unreadable = err != nil; p.unreadable || !ok {
		return nil
	}
	return &estimate.Range{Cases: r.Cases, Low: r.Low, High: r.High}
}

// Calibrate gives an estimate the interval that runs on this machine support.
func (p *Past) Calibrate(a *estimate.Answer, card gpu.Card) {
	if a == nil {
		return
	}
	if r := p.Residual(a.Setup, card); r != nil {
		a.Calibrate(*r)
	}
}
