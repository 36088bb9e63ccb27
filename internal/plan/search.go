// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"sync"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/simulate"
)

// search is the state of a search on one card. It does not limit the number of simulations: longRun in plan.go, the
// limits in rules.go and maxJudged in lengths.go keep it short.
type search struct {
	*prober
	req     Request
	exact   bool     // simulates this very card, not just its generation
	long    bool     // each run takes a long time to simulate
	tight   bool     // advice may fill the card
	kind    gpu.Card // determines which kernels run
	today   settings
	target  int // effective batch
	share   int // each GPU's share of the effective batch
	batches []int
	rules   rules
	set     []settings // the variants that the choice was made from
	worlds  []int      // factors by which a rescue may multiply the number of GPUs
	learned *learned
}

// learned is what a search has found out about its card. Copies of the search with other batches share it.
type learned struct {
	mu      sync.Mutex
	refused map[settings]bool    // settings that Estimate refused
	seconds map[settings]float64 // step times computed so far
	dropped []dropped            // settings with which the script cannot be followed
}

// candidate is settings with the figures from their probe.
type candidate struct {
	settings
	probe   *estimate.Probe
	seconds float64
	rate    float64 // samples per second, over all GPUs

	reserved uint64 // the most bytes that PyTorch reserves, once measured
}

// equal is the smallest ratio of two speeds that count as equal, because the time model is not more precise.
const equal = 0.99

func newSearch(r Request, p *prober, exact bool) (*search, error) {
	r, err := asScripted(r)
	if err != nil {
		return nil, err
	}
	s := &search{prober: p, req: r, exact: exact, kind: kindOf(r.Card, exact), today: settingsOf(r.Setup), worlds: fewMore}
	s.learned = &learned{refused: map[settings]bool{}, seconds: map[settings]float64{}}
	if s.isRecorded() {
		s.kind = gpu.Card{} // the recorded kernels are used on every card
	}
	if s.rules, err = readRules(r); err != nil {
		return nil, err
	}
	s.target = cmp.Or(r.Target, s.today.effective())
	if s.neverCheckpoints() {
		s.rules.locked["checkpointing"] = true
	}
	s.lockUnwritable()
	s.set = s.variants()
	s.batches, err = s.splits()
	return s, err
}

// asScripted returns a request for a run whose loop is read from a script: its precision is the script's, and
// settings that the script determines stay the same.
func asScripted(r Request) (Request, error) {
	if !simulate.Follows(r.Setup) || r.Setup.Script.File == nil {
		return r, nil
	}
	if _, err := simulate.Run(r.Setup, simulate.Options{Card: r.Card}); err != nil {
		return r, err
	}
	s := *r.Setup
	for _, field := range []string{"precision", "optimizer", "accumulation"} {
		if !r.Setup.Says(field) && !slices.Contains(r.Allow, field) {
			r.Lock = append(r.Lock[:len(r.Lock):len(r.Lock)], field)
		}
	}
	if p := s.ComputesIn(); p != s.Precision {
		s.Precision, s.Weights = p, ""
	}
	if n := s.Script.Accumulation(); n > 1 {
		s.Accumulation = n
	}
	if s.Recomputes() && !s.Checkpointing {
		s.Checkpointing = true
		if s.Model.Config != nil || !s.MayRecompute() { // the script's code turns it on, and no setting turns it off
			r.Lock = append(r.Lock[:len(r.Lock):len(r.Lock)], "checkpointing")
		}
	}
	r.Setup = &s
	return r, nil
}

// timed returns settings as a candidate with its speed.
func (s *search) timed(x settings) (candidate, error) {
	p, err := s.probe(x, s.kind)
	if err != nil {
		return candidate{}, err
	}
	sec := s.stepSeconds(x, p)
	if sec == 0 { // without times, assume that fewer, larger batches are faster
		sec = float64(x.accumulation)
	}
	return candidate{settings: x, probe: p, seconds: sec, rate: float64(x.effective()) / sec}, nil
}

// measured returns settings as a candidate with its speed and memory.
func (s *search) measured(x settings) (candidate, error) {
	c, err := s.timed(x)
	if err != nil {
		return c, err
	}
	return c, c.measure()
}

// measure computes the memory of a candidate.
func (c *candidate) measure() error {
	peaks, err := c.probe.Peaks()
	c.reserved = peaks.Reserved
	return err
}

// stepSeconds returns the time of a step. Allocator options do not affect it.
func (s *search) stepSeconds(x settings, p *estimate.Probe) float64 {
	x.allocator = ""
	s.learned.mu.Lock()
	sec, known := s.learned.seconds[x]
	s.learned.mu.Unlock()
	if !known {
		sec = p.Seconds(s.req.Card, x.accumulation)
		s.learned.mu.Lock()
		s.learned.seconds[x] = sec
		s.learned.mu.Unlock()
	}
	return sec
}

// placed returns the candidate with allocator options that make it fit, trying the current ones first, and false if
// none do.
func (s *search) placed(c candidate, r room) (candidate, bool, error) {
	for _, conf := range s.rules.allocators(s.base) {
		c.allocator = conf
		if s.isRefused(c.settings) {
			continue
		}
		if fits, err := s.fits(c, r); fits || err != nil {
			return c, fits, err
		}
	}
	return c, false, nil
}

// fits reports whether a candidate fits a room. At the limit of the card PyTorch flushes its cache before it fails,
// so the stream is played with that limit; PyTorch is unaware of a smaller share.
func (s *search) fits(c candidate, r room) (bool, error) {
	fits, err := s.fitsAsDrawn(c, r)
	for seed := 1; seed <= s.otherOrders(r) && fits && err == nil; seed++ {
		x := c
		x.settings.seed = seed
		if x.probe, err = s.probe(x.settings, s.kind); err == nil {
			fits, err = s.fitsAsDrawn(x, r)
		}
	}
	return fits && err == nil, err
}

// fitsAsDrawn is like fits, but for a single order of the samples.
func (s *search) fitsAsDrawn(c candidate, r room) (bool, error) {
	if r.below > 0 {
		if fits, err := s.fitsAsDrawn(c, room{share: r.below}); !fits || err != nil {
			return false, err
		}
	}
	limit := s.reservable(c.settings, r)
	if c.probe.Exceeds(limit) {
		return false, nil // no allocator options can make it fit
	}
	if r.careful {
		limit -= min(s.mayBeLow(c, limit)+s.possiblyMissing(), limit)
		if c.probe.Exceeds(limit) {
			return false, nil
		}
	}
	if r.share*(1-s.req.Margin) < 1 {
		return c.probe.Stays(limit, c.allocator)
	}
	v, err := c.probe.Within(limit, c.allocator)
	return v.Fits && (v.Retries == 0 || !r.careful), err
}

// mayBeLow returns how much too low a candidate's estimate may be.
func (s *search) mayBeLow(c candidate, limit uint64) uint64 {
	if s.req.Measured != nil {
		return estimate.High(c.on(s.base), s.req.Card, limit, s.req.Measured)
	}
	return c.probe.High(c.on(s.base), s.req.Card, limit)
}

// best returns the fastest of the variants in a room, or nil if none fits. Among equally fast ones it prefers the
// fewest changes, then the least memory.
func (s *search) best(variants []settings, r room) (*candidate, error) {
	var all []candidate
	fastest := 0.0
	for _, v := range variants {
		some, err := s.within(v, r, fastest)
		if err != nil {
			return nil, err
		}
		for _, c := range some {
			fastest = max(fastest, c.rate)
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, nil
	}
	for i := range all {
		if err := all[i].measure(); err != nil {
			return nil, err
		}
	}
	c, err := s.simpler(slices.MinFunc(all, s.order(fastest)), r, fastest)
	if err != nil {
		return nil, err
	}
	c, err = s.defragmented(c, r)
	return &c, err
}

// order returns a comparison that prefers the faster candidate, then the one with fewer changes, then the one with
// less memory.
func (s *search) order(fastest float64) func(a, b candidate) int {
	return func(a, b candidate) int {
		if x, y := a.rate >= equal*fastest, b.rate >= equal*fastest; x != y {
			return cmp.Compare(b.rate, a.rate)
		}
		return cmp.Or(
			cmp.Compare(a.changes(s.today), b.changes(s.today)),
			compareBool(a.optimizer == "adamw-8bit", b.optimizer == "adamw-8bit"), // unlike adamw-8bit, adamw-fused computes the same results as adamw
			cmp.Compare(a.reserved, b.reserved),
			cmp.Compare(b.rate, a.rate))
	}
}

// within lists the batches of one variant that fit and are worth comparing: the largest, and smaller ones as long as
// they are about as fast. It is empty if even the largest of all batches would be slower than the best so far.
func (s *search) within(v settings, r room, fastest float64) ([]candidate, error) {
	if s.hopeless(v, r) {
		return nil, nil
	}
	top, ok, err := s.tried(s.split(v, s.batches[len(s.batches)-1]))
	if err != nil || ok && top.rate < equal*fastest {
		return nil, err
	}
	i, err := s.largest(v, r)
	if err != nil {
		return nil, err
	}
	var out []candidate
	for most := 0.0; i >= 0; i-- {
		c, ok, err := s.tried(s.split(v, s.batches[i]))
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if most = max(most, c.rate); c.rate < equal*max(most, fastest) {
			break
		}
		c, fits, err := s.placed(c, r)
		if err != nil {
			return nil, err
		}
		if fits {
			out = append(out, c)
		}
	}
	return out, nil
}

// simpler returns the candidate without the changes that make no difference. Free changes stay: a fused optimizer,
// sdpa.
func (s *search) simpler(c candidate, r room, fastest float64) (candidate, error) {
	back := []func(x *settings){
		func(x *settings) { x.allocator = s.today.allocator },
		func(x *settings) { x.checkpointing = s.today.checkpointing },
		func(x *settings) { x.precision = s.today.precision },
	}
	for _, undo := range back {
		x := c.settings
		if undo(&x); x == c.settings || !s.rules.sane(x, s.req.Card) && s.rules.sane(c.settings, s.req.Card) {
			continue
		}
		y, err := s.timed(x)
		if err != nil {
			return c, err
		}
		if y.rate < equal*fastest {
			continue
		}
		placed, fits, err := s.placed(y, r)
		if err != nil {
			return c, err
		}
		if fits && placed.changes(s.today) < c.changes(s.today) {
			c = placed
		}
	}
	return c, nil
}

// worthDefragmenting is the share of a run's memory that expandable segments have to save to be used.
const worthDefragmenting = 0.01

// defragmented returns the candidate with expandable segments, if they save memory and it still fits the room. They
// cost no time.
func (s *search) defragmented(c candidate, r room) (candidate, error) {
	confs := s.rules.allocators(s.base)
	x := c
	x.allocator = confs[len(confs)-1]
	if x.allocator == c.allocator || s.isRefused(x.settings) || !c.probe.Plays(x.allocator) {
		return c, nil
	}
	if err := c.measure(); err != nil {
		return c, err
	}
	takes, err := c.probe.Under(x.allocator)
	if err != nil || float64(takes) > (1-worthDefragmenting)*float64(c.reserved) {
		return c, err
	}
	fits, err := s.fits(x, r)
	if err != nil || !fits {
		return c, err
	}
	return x, nil
}
