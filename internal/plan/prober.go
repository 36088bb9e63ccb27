// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// prober simulates settings, each only once, as many at a time as there are processors. Searches over several cards
// may share it.
type prober struct {
	base    *setup.Setup
	today   settings // the current settings, which are always simulated to the end
	largest uint64   // bytes of the largest card in the search
	slots   chan struct{}
	ctx     context.Context // the context of the search
	done    *atomic.Int64   // counts the simulated runs

	mu      sync.Mutex
	probes  map[probeKey]*once[*estimate.Probe]
	answers map[probeKey]*once[*estimate.Answer]
	floors  map[settings]uint64 // least memory at any batch and length, by the settings that determine it
	weights map[settings]uint64 // memory of the loaded weights, by the settings that determine it
}

// probeKey is everything that a simulated stream depends on.
type probeKey struct {
	settings
	kind gpu.Card // only the fields that affect kernels
}

// once is a result that is computed when it is first needed.
type once[T any] struct {
	sync.Once
	value T
	err   error
}

func newProber(base *setup.Setup) *prober {
	today := settingsOf(base)
	today.accumulation = min(today.accumulation, 2)
	return &prober{
		base: base, today: today, ctx: context.Background(), done: &atomic.Int64{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0)),
		probes: map[probeKey]*once[*estimate.Probe]{}, answers: map[probeKey]*once[*estimate.Answer]{}, floors: map[settings]uint64{}, weights: map[settings]uint64{},
	}
}

// during sets the context of p's probes, and returns p.
func (p *prober) during(ctx context.Context) *prober {
	p.ctx = ctx
	return p
}

// upTo makes p's probes stop if a run is far too large for all of the cards, and returns p.
func (p *prober) upTo(cards ...gpu.Card) *prober {
	for _, c := range cards {
		p.largest = max(p.largest, c.Total)
	}
	return p
}

// counting makes p count the runs that it simulates, and returns p.
func (p *prober) counting(done *atomic.Int64) *prober {
	if done != nil {
		p.done = done
	}
	return p
}

// remembered returns the value of make for a key. Only the first caller computes it.
func remembered[T any](p *prober, known map[probeKey]*once[T], key probeKey, make func() (T, error)) (value T, err error) {
	if err := p.ctx.Err(); err != nil {
		return value, err
	}
	p.mu.Lock()
	o := known[key]
	if o == nil {
		o = &once[T]{}
		known[key] = o
	}
	p.mu.Unlock()
	o.Do(func() {
		p.slots <- struct{}{}
		defer func() { <-p.slots }()
		if o.err = p.ctx.Err(); o.err == nil {
			o.value, o.err = make()
			p.done.Add(1)
		}
	})
	return o.value, o.err
}

// probe returns the simulated run with these settings on a kind of card.
func (p *prober) probe(x settings, kind gpu.Card) (*estimate.Probe, error) {
	x.accumulation = min(x.accumulation, 2) // further micro-batches are like the second
	x.allocator = p.base.Allocator          // the allocator options do not change the stream
	return remembered(p, p.probes, probeKey{x, kind}, func() (*estimate.Probe, error) {
		largest := p.largest
		if x == p.today {
			largest = 0
		}
		out, err := estimate.NewProbeUpTo(p.ctx, x.on(p.base), kind, largest)
		if err == nil {
			p.note(x, out)
		}
		return out, err
	})
}

// note records two lower bounds from a simulated run: for all runs that differ only in batch and length, and for all
// runs that load their weights the same way.
func (p *prober) note(x settings, found *estimate.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floors[x.lasting()] = found.Floor
	at := x.loading()
	if known, ok := p.weights[at]; !ok || found.Weights < known {
		p.weights[at] = found.Weights
	}
}

// floor returns a lower bound for the memory of settings, as far as it is known from similar runs.
func (p *prober) floor(x settings) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.floors[x.lasting()], p.weights[x.loading()])
}

// estimate returns the full answer for these settings on a card.
func (p *prober) estimate(x settings, card gpu.Card) (*estimate.Answer, error) {
	return remembered(p, p.answers, probeKey{x, card}, func() (*estimate.Answer, error) {
		return estimate.FiguresContext(p.ctx, x.on(p.base), card)
	})
}

// roughly returns the answer on any card of a kind. If the run stays within all limits, the answer is derived from
// one that the cards share.
func (p *prober) roughly(x settings, card, kind gpu.Card, seconds float64) (*estimate.Answer, error) {
	a, err := remembered(p, p.answers, probeKey{x, kind}, func() (*estimate.Answer, error) {
		free := x.on(p.base)
		free.Limit = 0
		return estimate.FiguresContext(p.ctx, free, kind)
	})
	if err != nil {
		return nil, err
	}
	s := x.on(p.base)
	if b := a.On(card, s, seconds); b != nil {
		return b, nil
	}
	return p.estimate(x, card)
}

// each calls do for 0 to n-1 concurrently, and returns the error with the lowest index.
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

// inTurn calls do for 0 to n-1. It starts the calls in order, only as many at once as there are processors, so that
// later calls can use the results of earlier ones. After a call returns false, no further calls are started.
func inTurn(n int, do func(i int) bool) {
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if !do(i) {
					next.Store(int64(n))
				}
			}
		})
	}
	wait.Wait()
}

// kindOf returns the part of a card that determines which kernels run. Cards of one generation differ by a few
// kilobytes of buffers; if exact is false they count as one, so that a search over many cards simulates each
// generation once.
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
