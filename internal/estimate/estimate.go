// SPDX-License-Identifier: Apache-2.0

// Package estimate computes the memory of a training run and what it is used for. It simulates the run, or generates
// it from a profile, plays the stream of allocations through the allocator, and reports what was alive at the peak.
// It reads no config files and queries no GPU.
package estimate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"snug/internal/allocator"
	"snug/internal/cost"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// Answer is the estimate for one setup, in bytes. Its fields with a JSON name are the output of snug estimate --json.
// A new field must also be added to the library's Answer (answer.go in package snug) and answerOf (convert.go there).
type Answer struct {
	ID            string         `json:"id"`                     // the setup's ID
	PeakAllocated uint64         `json:"peak_allocated"`         // the most bytes in tensors
	PeakReserved  uint64         `json:"peak_reserved"`          // the most bytes that PyTorch reserves
	Outside       uint64         `json:"outside"`                // bytes outside PyTorch's allocator: the CUDA context and loaded kernels
	DevicePeak    uint64         `json:"device_peak"`            // PeakReserved plus Outside
	Phases        Phases         `json:"phases,omitzero"`        // the peak of each phase
	Components    Components     `json:"components,omitzero"`    // what the memory at the peak is used for
	Params        int            `json:"params,omitempty"`       // number of parameters
	Trainable     int            `json:"trainable,omitempty"`    // number of trained parameters
	StepSeconds   float64        `json:"step_seconds,omitempty"` // estimated duration of one optimizer step
	Fits          *bool          `json:"fits,omitempty"`         // whether the run fits the card or the limit; nil if neither is known
	Versions      setup.Versions `json:"versions,omitzero"`      // the PyTorch and transformers versions that were simulated, either given or assumed
	Source        string         `json:"source"`                 // "simulated" or "recorded"
	Interval      [2]uint64      `json:"interval"`               // bounds for the expected peak of reserved memory
	Evidence      *Evidence      `json:"evidence,omitempty"`     // what the interval is based on; nil if it is based on runs on this machine

	Lengths *Varying `json:"lengths,omitempty"` // how the peak depends on the lengths; nil if all are equal

	Here      int                         `json:"-"` // number of runs on this machine that the interval is based on
	Causes    []profile.Cause             `json:"-"` // the reasons for the width of a recorded run's interval
	Uncertain []Uncertainty               `json:"-"` // what cannot be known about a simulated run in advance
	Setup     *setup.Setup                `json:"-"` // the run that was estimated
	Card      gpu.Card                    `json:"-"` // the card; zero if none was given
	Run       *simulate.Result            `json:"-"` // nil if the run was recorded
	Play      allocator.Result            `json:"-"` // the allocator's result
	OOM       *allocator.OutOfMemoryError `json:"-"` // the error that ends the run on this card, if any

	stopped  func() error // returns the error of the caller's context, or nil
	run      *run
	most     int    // limit on work
	work     int    // work spent on playing the run, in events
	measured *Range // the range that the interval was calibrated with

	reservedBy map[int]uint64 // if lengths vary: the peak of reserved bytes up to the last event of each step
}

// Phases is the peak allocated memory in each part of the run.
type Phases struct {
	Load       uint64 `json:"load"`                 // while the model is loaded
	Forward    uint64 `json:"forward"`              // in the forward pass
	Backward   uint64 `json:"backward"`             // in the backward pass
	Optimizer  uint64 `json:"optimizer"`            // in the optimizer's step
	Evaluation uint64 `json:"evaluation,omitempty"` // in forward passes without gradients, if the loop has any
}

// Components is what the memory at the peak is used for. The fields sum to PeakReserved.
type Components struct {
	Parameters    uint64 `json:"parameters"`    // weights
	Gradients     uint64 `json:"gradients"`     // gradients of the weights
	Optimizer     uint64 `json:"optimizer"`     // optimizer states
	Activations   uint64 `json:"activations"`   // tensors saved for the backward pass
	Logits        uint64 `json:"logits"`        // the model's output over the vocabulary, and the loss's tensors
	Batch         uint64 `json:"batch"`         // the input batch
	Temporaries   uint64 `json:"temporaries"`   // tensors that live only during one op
	Workspace     uint64 `json:"workspace"`     // cuBLAS and cuDNN workspaces
	Fragmentation uint64 `json:"fragmentation"` // reserved bytes that hold no tensor

	Recorded bool `json:"-"` // set for a recording, where logits, batch, temporaries and workspace are part of activations
}

// endless is the size of a card that is never full.
const endless = 1 << 58

// Estimate simulates a setup on a card. If the card has no Total, only its kind matters. Fits is set if the card or
// the setup has a limit. The figures are for a run with enough memory.
func Estimate(s *setup.Setup, card gpu.Card) (*Answer, error) {
	return EstimateContext(context.Background(), s, card)
}

// EstimateContext is like Estimate, but stops before the next micro-batch once the context ends.
func EstimateContext(ctx context.Context, s *setup.Setup, card gpu.Card) (*Answer, error) {
	a, err := estimate(ctx, s, card, maxWork)
	if err == nil {
		err = a.vary(ctx)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

func estimate(ctx context.Context, s *setup.Setup, card gpu.Card, most int) (*Answer, error) {
	a, err := try(ctx, s, card, most)
	if err != nil {
		return nil, err
	}
	if err := a.finish(); err != nil {
		return nil, err
	}
	return a, nil
}

// Figures is Estimate without the stream, for a search. It may spend more work on loops.
func Figures(s *setup.Setup, card gpu.Card) (*Answer, error) {
	return FiguresContext(context.Background(), s, card)
}

// FiguresContext is like Figures, but stops once the context ends.
func FiguresContext(ctx context.Context, s *setup.Setup, card gpu.Card) (*Answer, error) {
	a, err := estimate(ctx, s, card, maxTried)
	if a != nil && a.Run != nil {
		a.Run.World.DiscardTags()
		a.Run.World.DiscardTrace()
	}
	if a != nil {
		a.Run, a.run = nil, nil
	}
	return a, err
}

// try generates a setup's stream and plays it on the card. The amount of work is limited if there are loops.
func try(ctx context.Context, s *setup.Setup, card gpu.Card, most int) (*Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return tryAs(s, spread(card, s), most, simulate.Options{Stop: ctx.Err})
}

// tryAs is try with options for the simulation.
func tryAs(s *setup.Setup, card gpu.Card, most int, o simulate.Options) (a *Answer, err error) {
	if s.Model.Program != nil {
		a, err = recorded(s, card)
	} else {
		a, err = simulated(s, card, o)
	}
	if err != nil {
		return nil, err
	}
	a.most, a.stopped = most, o.Stop
	err = a.play(card, s.Limit)
	a.OOM = a.Play.OOM
	return a, err
}

// finish computes the figures of a run with enough memory.
func (a *Answer) finish() error {
	if a.OOM != nil {
		if err := a.play(a.shown(), a.shownLimit()); err != nil {
			return err
		}
		if a.Play.OOM != nil {
			return fmt.Errorf("a tensor of this run would be larger than any memory: %w", a.Play.OOM)
		}
	}
	if a.Card.Total > 0 || a.Setup.Limit > 0 {
		fits := a.OOM == nil
		a.Fits = &fits
	}
	a.DevicePeak = a.PeakReserved + a.Outside
	a.Components = a.components()
	return a.setInterval()
}

// shown returns the card that the answer's figures were computed with, and shownLimit the limit: as given, or
// unlimited if the run does not fit.
func (a *Answer) shown() gpu.Card {
	card := a.Card
	if a.OOM != nil {
		card.Total = 0
	}
	return card
}

func (a *Answer) shownLimit() uint64 {
	if a.OOM != nil {
		return 0
	}
	return a.Setup.Limit
}

// simulated simulates the setup.
func simulated(s *setup.Setup, card gpu.Card, o simulate.Options) (a *Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, fmt.Errorf("simulating %s failed; this is a bug in snug: %v", s.Model.Title(), p)
		}
	}()
	o.Card, o.Skips = card, slices.Repeat([]bool{true}, s.SkippedUpdates)
	o.Folds, o.MaxEvents = true, eventsOf(s)
	rates, timed := cost.RatesOf(card)
	timed = timed && card.Total > 0 && s.Lengths == nil // a card was named, and all steps take equally long
	tape := &cost.Tape{}
	if timed {
		o.Watch = tape
	}
	result, err := simulate.Run(s, o)
	if err != nil {
		return nil, limitError(s, 0, err)
	}
	a = &Answer{
		ID: s.ID, Setup: s, Card: card, Run: result, Params: result.Params, Trainable: result.Trainable,
		Source: "simulated", Versions: s.Simulated(), Outside: card.Outside, run: runOf(result, true),
	}
	if timed {
		a.StepSeconds = micros(tape.Seconds(rates, result.Micros(s)))
	}
	return a, nil
}

// play runs the stream through the allocator of the setup's PyTorch.
func (a *Answer) play(card gpu.Card, limit uint64) error {
	o := playing{brief: true, work: a.most, spent: a.work, stop: a.stopped}
	if a.Run != nil { // a recording has no phase marks
		o.phases = make([]uint64, simulate.Evaluation+1)
	}
	a.noteSteps(&o)
	got, err := a.run.play(a.Setup, card, limit, o)
	a.Play, a.work = got.Result, a.work+got.work
	a.PeakAllocated, a.PeakReserved = a.Play.PeakAllocated, a.Play.PeakReserved
	if p := o.phases; p != nil {
		a.Phases = Phases{p[simulate.Load], p[simulate.Forward], p[simulate.Backward], p[simulate.Optimizer], p[simulate.Evaluation]}
	}
	return err
}

// On returns the answer for another card of the same kind; nil if the run would reach a limit there, so that it has
// to be played again. If its tensors alone exceed the limit, it cannot fit, and its figures are for a run with enough
// memory.
func (a *Answer) On(card gpu.Card, s *setup.Setup, seconds float64) *Answer {
	limit := Reservable(s, card)
	if s.Limit > 0 {
		limit = min(limit, s.Limit)
	}
	fits := a.PeakReserved <= limit
	if !fits && a.PeakAllocated <= limit {
		return nil
	}
	if p := Profile(s); p != nil && !Timed(p, card) {
		seconds = 0
	}
	b := *a
	b.Setup, b.Card, b.Outside = s, card, Outside(s, card)
	b.DevicePeak, b.Fits, b.StepSeconds = b.PeakReserved+b.Outside, &fits, micros(seconds)
	return &b
}

// micros rounds seconds to the microsecond.
func micros(seconds float64) float64 { return math.Round(seconds*1e6) / 1e6 }
