// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/gpu"
	"snug/internal/kernel"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/simulate"
)

// Some things about a run cannot be known in advance, but each can be simulated both ways. The interval covers both
// results; then the errors of past estimates are added.

// Uncertainty is an unknown, and how far it may move the peak of reserved bytes.
type Uncertainty struct {
	What       Unknown       // the kind of uncertainty
	Facts      []kernel.Fact // for Kernels: the facts that are unknown for the card
	Less, More uint64        // bytes below and above the estimate
}

// Unknown is a kind of uncertainty.
type Unknown int

// The kinds.
const (
	// Updates means updates that may be skipped. With float16, the initial gradient scale is so high that gradients
	// often overflow. Then the update is skipped and the scale is halved. How often this happens depends on the
	// values. Until the first update there are no optimizer states, and states that are allocated later fill other
	// holes.
	Updates Unknown = iota
	// Buckets means DDP's buckets. DDP allocates them twice. Whether the first buckets are freed before the second
	// are allocated depends on the timing of an NCCL thread, so they may add to any peak.
	Buckets
	// Kernels means that the memory of some kernels is unknown for the card or the version.
	Kernels
	// Code means that parts of the script that the loop is read from could not be followed.
	Code
	// Compiled means torch.compile, whose fused ops keep fewer activations. The figure is for eager mode.
	Compiled
)

// The savings and the increase observed with torch.compile, as shares of the memory that eager mode reserves: eleven
// pairs of runs on an H200 (testdata/loops/measured_compile.jsonl) range from 44 % less, for GPT-2 in bf16, to 9 %
// more, for ViT. Published pairs are within this range: 15 % less for Llama 3.2 3B in torchtune, 7 % less for Llama
// 3.1 8B in torchtitan.
const (
	compiledLess = 0.45
	compiledMore = 0.10
)

// How far off the figure may be if parts of a script could not be followed, as shares of the figure. These are not
// measured, because the unfollowed parts can be anything; parts of a script's own model can take more than parts of
// its loop.
const (
	unfollowedLoop  = 0.05
	unfollowedModel = 0.5
)

// Ends returns the least and the most memory that the run may reserve.
func (a *Answer) Ends() (least, most uint64) {
	least, most = a.PeakReserved, a.PeakReserved
	for _, o := range a.Uncertain {
		least -= min(o.Less, least)
		most += o.More
	}
	return least, most
}

func (a *Answer) uncertainties() (out []Uncertainty, err error) {
	for _, find := range []func() (Uncertainty, error){a.skippedUpdates, a.lateBuckets, a.unknownKernels, a.unfollowed, a.compiled} {
		o, err := find()
		if err != nil {
			return nil, err
		}
		if o.Less > 0 || o.More > 0 || len(o.Facts) > 0 {
			out = append(out, o)
		}
	}
	return out, nil
}

// skippedUpdates simulates the run without its first update, and without any.
func (a *Answer) skippedUpdates() (o Uncertainty, err error) {
	if a.Setup.ComputesIn() != "amp-fp16" || a.Setup.SkippedUpdates > 0 {
		return o, nil
	}
	o.What = Updates
	for _, n := range []int{1, a.Setup.Steps} {
		peak, err := a.reservedIf(simulate.Options{}, n)
		if err != nil {
			return o, err
		}
		o.widen(a.PeakReserved, peak)
	}
	return o, nil
}

func (a *Answer) lateBuckets() (o Uncertainty, err error) {
	d := a.Setup.Dist
	if d == nil || d.Kind != "ddp" {
		return o, nil
	}
	o.What = Buckets
	peak, err := a.reservedIf(simulate.Options{LateBuckets: true}, 0)
	o.widen(a.PeakReserved, max(peak, a.PeakReserved+a.Run.Gradients))
	return o, err
}

// unknownKernels simulates the lower and the upper bounds. If they differ by less than one segment, nothing is
// simulated again.
func (a *Answer) unknownKernels() (o Uncertainty, err error) {
	o = Uncertainty{What: Kernels, Facts: missingFacts(a.Run.World.Open)}
	if len(o.Facts) == 0 {
		return o, nil
	}
	if sum := openBytes(a.Run.World.Open); sum <= segment {
		o.Less, o.More = sum, sum
		return o, nil
	}
	for _, side := range []kernel.Side{kernel.Least, kernel.Most} {
		peak, err := a.reservedIf(simulate.Options{Side: side}, 0)
		if err != nil {
			return o, err
		}
		o.widen(a.PeakReserved, peak)
	}
	return o, nil
}

// unfollowed returns the uncertainty for a script that could not be followed completely: tensors may live longer,
// as they do in a typical tutorial's loop, and the figure may be off by another twentieth.
func (a *Answer) unfollowed() (o Uncertainty, err error) {
	if !simulate.Follows(a.Setup) || !a.Setup.Script.PartlyFollowed() {
		return o, nil
	}
	o = Uncertainty{What: Code, Less: a.share(unfollowedLoop)}
	if a.Setup.SelectsUnknown() {
		peak, err := a.reservedIf(simulate.Options{NoneSelected: true}, 0)
		if err != nil {
			return o, err
		}
		o.Less += a.PeakReserved - min(peak, a.PeakReserved)
	}
	if a.Setup.Script.OwnModel() { // the unfollowed part may be in the model, which no other loop runs
		o.More = a.share(unfollowedModel)
		return o, nil
	}
	s := *a.Setup
	s.Checkpointing = s.Recomputes()
	s.Script = &setup.Script{Name: "script", Guessed: true} // snug's own step, if the model returns no loss
	b, err := tryAs(&s, a.shown(), a.most-a.work, simulate.Options{Stop: a.stopped})
	if err != nil {
		return o, err
	}
	o.More = max(b.PeakReserved, a.PeakReserved) - a.PeakReserved + a.share(unfollowedLoop)
	if a.Setup.DifferentiatesTwice() { // the second backward may keep the same amount again
		o.More = max(o.More, a.PeakReserved)
	}
	return o, nil
}

// share returns a share of the figure, in bytes.
func (a *Answer) share(of float64) uint64 { return uint64(of * float64(a.PeakReserved)) }

// compiled widens the interval by the effect of torch.compile in other runs.
func (a *Answer) compiled() (o Uncertainty, err error) {
	if a.Setup.Compiles() {
		o = Uncertainty{What: Compiled, Less: a.share(compiledLess), More: a.share(compiledMore)}
	}
	return o, nil
}

// missingFacts returns the facts that were missing for a run.
func missingFacts(open shadow.Open) (out []kernel.Fact) {
	for f := range kernel.Facts {
		if open[f] > 0 {
			out = append(out, f)
		}
	}
	return out
}

func openBytes(open shadow.Open) (sum uint64) {
	for _, n := range open {
		sum += n
	}
	return sum
}

// widen widens o to include another peak.
func (o *Uncertainty) widen(estimated, peak uint64) {
	o.Less = max(o.Less, estimated-min(peak, estimated))
	o.More = max(o.More, peak-min(peak, estimated))
}

// reservedIf returns the bytes that the run reserves with the options o and skipped updates. If the run would not
// fit, the limit is ignored.
func (a *Answer) reservedIf(o simulate.Options, leftOut int) (uint64, error) {
	o.Stop = a.stopped
	s := *a.Setup
	s.SkippedUpdates, s.Limit = max(s.SkippedUpdates, leftOut), a.shownLimit()
	b, err := tryAs(&s, a.shown(), a.most-a.work, o)
	if err == nil && b.OOM != nil {
		err = b.play(gpu.Card{Outside: a.Card.Outside}, 0)
	}
	if b != nil {
		a.work += b.work
	}
	if err != nil {
		return 0, err
	}
	return b.PeakReserved, nil
}
