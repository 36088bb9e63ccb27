// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"runtime"
	"sync"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// prober simulates settings, each once, as many at a time as there are
// processors. It may be shared by the searches over several cards.
type prober struct {
	base  *setup.Setup
	slots chan struct{}

	mu    sync.Mutex
	known map[probeKey]*pending
}

// probeKey is what a simulated stream depends on.
type probeKey struct {
	settings
	kind gpu.Card // of which only what chooses kernels is kept
}

type pending struct {
	once  sync.Once
	probe *estimate.Probe
	err   error
}

func newProber(base *setup.Setup) *prober {
	return &prober{base: base, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), known: map[probeKey]*pending{}}
}

// probe is the simulated run with these settings on such a card.
func (p *prober) probe(x settings, kind gpu.Card) (*estimate.Probe, error) {
	x.accumulation = min(x.accumulation, 2) // further micro-batches are as the second
	x.allocator = p.base.Allocator          // which changes no stream
	p.mu.Lock()
	e := p.known[probeKey{x, kind}]
	if e == nil {
		e = &pending{}
		p.known[probeKey{x, kind}] = e
	}
	p.mu.Unlock()
	e.once.Do(func() {
		p.slots <- struct{}{}
		defer func() { <-p.slots }()
		e.probe, e.err = estimate.NewProbe(x.on(p.base), kind)
	})
	return e.probe, e.err
}

// estimate is the whole answer for these settings on a card.
func (p *prober) estimate(x settings, card gpu.Card) (*estimate.Answer, error) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	return estimate.Estimate(x.on(p.base), card)
}

// each calls do for 0 to n-1, all at once, and gives back the first error in
// their order.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { errs[i] = do(i) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// kindOf is what of a card decides which kernels run. Cards of one generation
// differ by some kilobytes of buffers; where exact is false they count as one,
// so that a search over many cards simulates each generation once.
func kindOf(card gpu.Card, exact bool) gpu.Card {
	kind := gpu.Card{Capability: card.Capability, SMs: card.SMs}
	if card.Capability == 0 {
		kind.Capability, kind.SMs = gpu.Reference.Capability, gpu.Reference.SMs
	}
	if exact {
		return kind
	}
	switch c := kind.Capability; {
	case c < 80:
		return gpu.Card{Capability: 75, SMs: 72}
	case c < 90:
		return gpu.Card{Capability: 80, SMs: 108}
	case c < 100:
		return gpu.Card{Capability: 90, SMs: 132}
	case c < 120:
		return gpu.Card{Capability: 100, SMs: 148}
	}
	return gpu.Card{Capability: 120, SMs: 170}
}
