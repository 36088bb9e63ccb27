// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"

	"snug/internal/allocator"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/setup"
)

// program adapts a profile for use in setups.
type program struct{ *profile.Program }

// Recorded returns the properties that a setup must match.
func (p program) Recorded() setup.Recorded {
	f := p.Facts
	out := setup.Recorded{
		Torch: p.Torch.String(), Names: p.Names, Fixed: p.Fixed, Precision: f.Precision, Optimizer: f.Optimizer,
		Checkpointing: f.Checkpointing, Accumulation: f.Accumulation, World: f.World, Kind: spreadBy(f.Model), Length: p.HasLength(),
	}
	for _, at := range p.Program.Recorded() {
		out.Sizes = append(out.Sizes, at)
	}
	return out
}

// spreadBy returns the kind of data parallelism indicated by the class of the outermost module, or "".
func spreadBy(class string) string {
	switch {
	case class == "DistributedDataParallel":
		return "ddp"
	case strings.HasPrefix(class, "FSDP"): // FSDP2 adds this prefix to the model's class
		return "fsdp2"
	}
	return ""
}

// AsModel returns a profile as a model for setups.
func AsModel(p *profile.Program) setup.Program { return program{p} }

// ReadProfile reads a profile for setups that refer to one.
func ReadProfile(r io.Reader) (setup.Program, error) {
	p, err := profile.Read(r)
	if err != nil {
		return nil, err
	}
	return program{p}, nil
}

// Profile returns the profile of a setup's model, or nil.
func Profile(s *setup.Setup) *profile.Program {
	p, _ := s.Model.Program.(program)
	if s.Lengths == nil || p.Program == nil {
		return p.Program
	}
	var lengths []int64
	for _, step := range s.Tokens() {
		lengths = append(lengths, int64(step[0]))
	}
	return p.WithLengths(lengths)
}

// recorded generates the stream of a setup from its profile.
func recorded(s *setup.Setup, card gpu.Card) (*Answer, error) {
	r, err := recordedRun(s)
	if err != nil {
		return nil, err
	}
	f := Profile(s).Facts
	a := &Answer{
		ID: s.ID, Setup: s, Card: card, run: r, Params: f.Params, Trainable: f.Trainable, Source: "recorded", Outside: card.Outside,
	}
	if Timed(Profile(s), card) {
		micro, _ := Profile(s).Seconds(s.At())
		a.StepSeconds = micros(micro * float64(max(s.Accumulation, 1)))
	}
	return a, nil
}

// Timed reports whether a profile was timed on this card. Times do not apply to other cards, because a recording does
// not show what a step waits for.
func Timed(p *profile.Program, card gpu.Card) bool {
	on, err := gpu.Find(p.Card)
	return err == nil && on.Name == card.Name && len(p.Facts.Timings) > 0
}

func recordedRun(s *setup.Setup) (*run, error) {
	r, err := Profile(s).Run(s.At())
	if err != nil {
		return nil, err
	}
	return &run{trace: r.Trace, start: r.Start, kept: Kept(s)}, nil
}

// Kept returns the memory that a run uses beyond its recordings. Gradients that are accumulated over several
// forward passes stay while the next one runs; in a recording with one forward pass per step they were freed by
// then. If one GPU was recorded, DDP's buckets add a second copy of the gradients. Both are counted in full for the
// whole run, which is right at the end of a forward pass and too much in the optimizer step; the table of residuals
// has the error (Added).
func Kept(s *setup.Setup) uint64 {
	p := Profile(s)
	if p == nil {
		return 0
	}
	kept := uint64(0)
	if addsGradients(s) {
		kept += p.Facts.Gradients
	}
	if addsBuckets(s) {
		kept += p.Facts.Gradients
	}
	return kept
}

// addsGradients reports whether gradients stay over several forwards although the recordings had one per step.
func addsGradients(s *setup.Setup) bool {
	return s.Accumulation > 1 && Profile(s).Facts.Accumulation == 1
}

// addsBuckets reports whether DDP's buckets are added to the recorded memory. With
// gradient_as_bucket_view they are the gradients themselves.
func addsBuckets(s *setup.Setup) bool {
	d := s.Dist
	return d != nil && d.Kind == setup.DDP && d.World() > 1 && Profile(s).Facts.World <= 1 && !(addsGradients(s) && d.BucketView)
}

// recordedProbe returns a probe whose stream comes from a profile. The stream is generated only if the peaks alone
// do not determine whether the run fits. If its tensors exceed any memory, the run fits no card; that is not an
// error.
func recordedProbe(s *setup.Setup) (*Probe, error) {
	p := unplayed(s)
	err := p.predict()
	var oom *allocator.OutOfMemoryError
	if errors.Is(err, profile.ErrTooLarge) || errors.As(err, &oom) {
		p.PeakRequested = endless
		p.learn(Peaks{endless, endless})
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func unplayed(s *setup.Setup) *Probe {
	return &Probe{Setup: s, last: -1, run: sync.OnceValues(func() (*run, error) { return recordedRun(s) })}
}

// predict computes the peaks of a recorded run. With the recorded options, the profile can compute them faster than
// a play.
func (p *Probe) predict() error {
	if p.Setup.Allocator != "" {
		return p.measure()
	}
	kept := Kept(p.Setup)
	got, err := Profile(p.Setup).PredictBeside(p.Setup.At(), kept)
	if err != nil {
		return err
	}
	p.learn(Peaks{got.PeakAllocated, got.PeakReserved})
	p.PeakRequested = got.PeakAllocated / 2 // a lower bound: only blocks of at least 1 MiB are too large, by at most 1 MiB
	p.requested = sync.OnceValue(func() uint64 {
		n, err := Profile(p.Setup).Requested(p.Setup.At())
		if err != nil {
			return 0
		}
		return n + kept
	})
	return nil
}

// recordedComponents returns the components that the probe measured; everything else is counted as activations.
// Gradients are separate only if they also stay during the forward pass.
func (a *Answer) recordedComponents() Components {
	f := Profile(a.Setup).Facts
	c := Components{Parameters: f.Parameters, Optimizer: f.States, Recorded: true, Fragmentation: a.PeakReserved - a.PeakAllocated}
	if max(f.Accumulation, 1) > 1 || Kept(a.Setup) > 0 {
		c.Gradients = max(f.Gradients, Kept(a.Setup))
	}
	stays := c.Parameters + c.Gradients + c.Optimizer
	if f.Parameters == 0 || stays > a.PeakAllocated {
		return Components{}
	}
	c.Activations = a.PeakAllocated - stays
	return c
}

// MarshalJSON omits the components that a recording does not distinguish.
func (c Components) MarshalJSON() ([]byte, error) {
	type all Components
	if !c.Recorded {
		return json.Marshal(all(c))
	}
	return json.Marshal(struct {
		Parameters    uint64 `json:"parameters"`
		Gradients     uint64 `json:"gradients,omitempty"`
		Optimizer     uint64 `json:"optimizer"`
		Activations   uint64 `json:"activations"`
		Fragmentation uint64 `json:"fragmentation"`
	}{c.Parameters, c.Gradients, c.Optimizer, c.Activations, c.Fragmentation})
}
