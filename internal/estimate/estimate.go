// SPDX-License-Identifier: Apache-2.0

// Package estimate answers what a training run takes: it simulates the run,
// plays the stream through the allocator, and says what was alive at the peak.
package estimate

import (
	"snug/internal/allocator"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/simulate"
)

// Card is the GPU that a run is to fit.
type Card struct {
	Name       string
	Total      uint64 // bytes the driver reports
	Outside    uint64 // what the process holds outside PyTorch: context, kernels
	Capability int
	SMs        int
}

// Reference is the card that the measurements were made on: an H200, with what
// a process held there outside PyTorch's allocator.
var Reference = Card{Name: "H200", Total: 150_110_011_392, Outside: 758 << 20, Capability: 90, SMs: 132}

// Answer is the estimate of one setup, in bytes.
type Answer struct {
	ID            string            `json:"id"`
	PeakAllocated uint64            `json:"peak_allocated"`
	PeakReserved  uint64            `json:"peak_reserved"`
	Outside       uint64            `json:"outside"`
	DevicePeak    uint64            `json:"device_peak"`
	Phases        map[string]uint64 `json:"phases"`
	Components    map[string]uint64 `json:"components"`
	Params        int               `json:"params"`
	Trainable     int               `json:"trainable"`
	Fits          *bool             `json:"fits,omitempty"`
	Source        string            `json:"source"`
	Interval      [2]uint64         `json:"interval"`

	Run  *simulate.Result            `json:"-"`
	Play allocator.Result            `json:"-"`
	OOM  *allocator.OutOfMemoryError `json:"-"`
}

// phaseNames are those of simulate's phases, in order.
var phaseNames = [...]string{"load", "forward", "backward", "optimizer"}

// Estimate simulates a setup on a card. Whether it fits is said when the card
// or the setup has a limit that was asked for.
func Estimate(s *setup.Setup, card Card) (*Answer, error) {
	run, err := simulate.Run(s, simulate.Options{})
	if err != nil {
		return nil, err
	}
	a := &Answer{ID: s.ID, Run: run, Params: run.Params, Trainable: run.Trainable, Source: "simulated", Outside: card.Outside}
	if err := a.play(s, card); err != nil {
		return nil, err
	}
	a.DevicePeak = a.PeakReserved + a.Outside
	a.Components = components(a)
	return a, nil
}

// play runs the stream through the allocator of the setup's PyTorch.
func (a *Answer) play(s *setup.Setup, card Card) error {
	al, err := newAllocator(s, card)
	if err != nil {
		return err
	}
	phases := newPhaseWatch(a.Run.World.Trace, al)
	res, err := al.Play(a.Run.World.Trace, allocator.PlayOptions{Observe: phases.observe})
	if err != nil {
		return err
	}
	a.Play, a.OOM = res, res.OOM
	a.PeakAllocated, a.PeakReserved = res.PeakAllocated, res.PeakReserved
	a.Phases = phases.peaks()
	return nil
}

// newAllocator makes the allocator that the setup's process would have.
func newAllocator(s *setup.Setup, card Card) (*allocator.Allocator, error) {
	v, err := allocator.ParseVersion(s.Versions.Torch)
	if err != nil {
		return nil, err
	}
	opt, err := allocator.ParseOptions(s.Allocator, v)
	if err != nil {
		return nil, err
	}
	al, err := allocator.New(allocator.NewDriver(card.Total, card.Outside), v, opt)
	if err != nil {
		return nil, err
	}
	if s.Limit > 0 && s.Limit < card.Total {
		err = al.SetMemoryFraction(float64(s.Limit) / float64(card.Total))
	}
	return al, err
}

// Components, in the order in which they are shown.
var componentNames = map[shadow.Component]string{
	shadow.Parameters: "parameters", shadow.Gradients: "gradients", shadow.OptimizerState: "optimizer",
	shadow.Activations: "activations", shadow.Logits: "logits", shadow.Batch: "batch",
	shadow.Temporaries: "temporaries", shadow.Workspace: "workspace",
}
