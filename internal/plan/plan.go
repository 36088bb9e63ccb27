// SPDX-License-Identifier: Apache-2.0

// Package plan chooses the settings of a training run: those that train the most samples per second within a card's
// memory, at the effective batch that the user requested. It only recommends; package edits plans the changes to
// files.
//
// Every number is simulated; none is a rule of thumb. The search is short because memory grows with the batch: for
// each combination of the other settings, the largest batch that fits is found by bisection, among those that divide
// the effective batch. A larger batch also trains about as many samples per second as a
// smaller one, or more. So a combination is skipped
// if even its largest batch would be slower than the best found so far.
package plan

import (
	"cmp"
	"context"
	"sync/atomic"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/setup"
)

// Request is the input of the planner.
type Request struct {
	Setup   *setup.Setup // the current run
	Card    gpu.Card     // the card to plan for
	Target  int          // effective batch; 0 means the current one
	Margin  float64      // share of the card to leave free
	Reserve uint64       // bytes of the card that other processes need
	Goal    Goal         // what matters most; the zero value is Throughput
	Lock    []string     // fields of the setup that must not change
	Allow   []string     // fields that may change even though this changes what is trained

	Library Library // how the run's library would add LoRA adapters

	// Writable reports whether the run's files can set a setting to a value; nil allows every value. It must be safe
	// for concurrent use.
	Writable func(setting string, value any) bool

	Done *atomic.Int64 // counts the simulated runs; may be nil

	Measured *estimate.Range // how far off estimates for this run were; nil if it was not measured
}

// Library describes how a run's library implements LoRA, if known.
type Library struct {
	PEFT      bool   // adapters come from PEFT
	Weights   string // type in which the frozen weights are loaded, as in a setup
	Precision string // the precision with adapters, if it differs
}

// Goal is what a plan optimizes for.
type Goal string

// The goals.
const (
	Throughput Goal = "throughput" // the most samples per second
	Balanced   Goal = "balanced"   // the most samples per second within 80 % of the card
	Quick      Goal = "quick"      // for experiments: only batch and accumulation change, within half the card
)

// Goals lists all goals.
var Goals = []Goal{Throughput, Balanced, Quick}

// Plan is a recommendation with its reasons.
type Plan struct {
	GPU         string      `json:"gpu"`         // name of the card
	Current     *Choice     `json:"current"`     // the current run
	Recommended *Choice     `json:"recommended"` // nil if nothing fits
	Ladder      []Rung      `json:"ladder"`      // choices from cautious to tight
	Levers      []Lever     `json:"levers"`      // single changes that save memory
	Rejected    []Rejection `json:"rejected"`    // choices that were considered but not chosen
	Files       []File      `json:"files"`       // the changes to config files

	Card    gpu.Card `json:"-"` // the card to plan for
	Tight   bool     `json:"-"` // the recommended settings fit, but not with the margin for errors
	Timed   bool     `json:"-"` // whether speeds are known at all
	Target  int      `json:"-"` // the requested effective batch
	Notes   []string `json:"-"` // remarks for the user
	Room    uint64   `json:"-"` // bytes that the run has to fit into
	Least   *Choice  `json:"-"` // if nothing fits: the settings that take the least memory
	Rescue  []string `json:"-"` // if nothing fits: the shortest list of levers that makes the run fit
	Rescued *Choice  `json:"-"` // the run with Rescue
	Flags   []string `json:"-"` // the flags that turn the run into Rescued
}

// Choice is one way to run.
type Choice struct {
	Settings         setup.Values     `json:"settings"`           // the values that the plan chose
	Estimate         *estimate.Answer `json:"estimate"`           // memory and step time
	SamplesPerSecond float64          `json:"samples_per_second"` // estimated throughput

	Change string `json:"-"` // describes how it differs from the current settings

	settings settings
	rate     float64 // samples per second, or a substitute if the run was not timed
	tight    bool    // it fits, but not with the margin for errors
	roomier  *Choice // the best choice that leaves more of the card free, if this one fills it
}

// Rung is the fastest way to run within a share of the card.
type Rung struct {
	Name  string  `json:"name"`  // from safe to maximum
	Share float64 `json:"share"` // largest share of the card that may be used
	*Choice
	Risk string `json:"risk"` // describes what can go wrong
}

// Lever is a single change to the current settings that saves memory.
type Lever struct {
	Change string `json:"change"` // describes the change
	Saves  uint64 `json:"saves"`  // bytes of peak memory
	Costs  string `json:"costs"`  // describes the cost
}

// Rejection is a choice that was not made.
type Rejection struct {
	Settings setup.Values `json:"settings"` // the settings that were considered
	Why      string       `json:"why"`      // the reason
	Change   string       `json:"-"`        // describes how it differs from the chosen settings
}

// File is a value in a file that the recommended settings change.
type File struct {
	Path string `json:"path"` // relative to the project
	Key  string `json:"key"`  // the key in the file
	From any    `json:"from"` // the old value
	To   any    `json:"to"`   // the new value
}

// Search finds the best settings for one card.
func Search(r Request) (*Plan, error) { return SearchContext(context.Background(), r) }

// SearchContext is like Search, but stops once the context ends.
func SearchContext(ctx context.Context, r Request) (*Plan, error) {
	s, err := newSearch(r, newProber(r.Setup).during(ctx).upTo(r.Card).counting(r.Done), true)
	if err != nil {
		return nil, err
	}
	today, err := s.probe(s.today, s.kind)
	if err != nil {
		return nil, err
	}
	if _, err := today.Peaks(); err != nil {
		return nil, err
	}
	s.long = today.Events() > longRun
	if s.long {
		done := make(chan struct{})
		defer close(done)
		s.playAhead(done)
	} else {
		s.probeAhead()
	}
	p, err := s.recommend()
	if err == nil {
		err = s.rescue(p)
	}
	if err != nil {
		return nil, err
	}
	if s.long {
		p.Notes = append(p.Notes, "This run takes a long time to simulate, so levers and rejected settings are not shown.")
		p.Ladder, err = s.ladder()
	} else {
		err = s.explain(p)
	}
	p.Notes = append(p.Notes, s.droppedNotes()...)
	return p, err
}

// longRun is the number of events above which a plan has no ladder, levers or rejections, because each simulation
// takes too long. Models that run token by token have millions of events.
const longRun = 500_000

// explain adds the ladder, the levers and the rejections.
func (s *search) explain(p *Plan) error {
	var rejected, impossible []Rejection
	err := each(3, func(i int) (err error) {
		switch {
		case i == 0:
			p.Ladder, err = s.ladder()
		case i == 1:
			p.Levers, impossible, err = s.levers()
		case p.Recommended != nil:
			rejected, err = s.rejected(p.Recommended)
		}
		return err
	})
	p.Rejected = append(append(p.Rejected, rejected...), impossible...) // never nil, so that JSON has [] instead of null
	if err != nil {
		return err
	}
	note, err := s.emptiesNote(p)
	if note != "" {
		p.Notes = append(p.Notes, note)
	}
	return err
}

// SearchAll finds the best settings for each of several cards, without ladders and levers. Cards of one generation
// share their simulations.
func SearchAll(ctx context.Context, r Request, cards []gpu.Card) ([]*Plan, error) {
	return searchAll(newProber(r.Setup).during(ctx).upTo(cards...).counting(r.Done), r, cards)
}

func searchAll(p *prober, r Request, cards []gpu.Card) ([]*Plan, error) {
	out := make([]*Plan, len(cards))
	err := each(len(cards), func(i int) error {
		own := r
		own.Card = cards[i]
		s, err := newSearch(own, p, false)
		if err == nil {
			out[i], err = s.recommend()
		}
		if err == nil {
			out[i].Notes = append(out[i].Notes, s.droppedNotes()...)
		}
		return err
	})
	return out, err
}

// recommend returns a plan with the current and the recommended settings.
func (s *search) recommend() (*Plan, error) {
	p := &Plan{
		GPU: s.req.Card.Name, Card: s.req.Card, Target: s.target, Timed: s.isTimed(), Room: s.bytesFree(),
		Ladder: []Rung{}, Levers: []Lever{}, Rejected: []Rejection{}, Files: []File{},
	}
	var err error
	if p.Current, err = s.choice(s.today); err != nil {
		return nil, err
	}
	best, err := s.chosen()
	switch {
	case err != nil:
		return nil, err
	case best == nil:
		return p, s.tooSmall(p)
	}
	p.Recommended, p.Tight = best, best.tight || s.mightNotFit(best)
	p.Notes = append(s.notes(best), s.recordedNotes(best)...)
	return p, nil
}

// share returns how much of the card a goal may use.
func (g Goal) share() float64 {
	switch cmp.Or(g, Throughput) {
	case Balanced:
		return 0.8
	case Quick:
		return 0.5
	}
	return 1
}
