// SPDX-License-Identifier: Apache-2.0

// Package profile predicts the memory of any model from recordings. It fits a few short recordings of the training
// step at small sizes to a Program with parameters such as batch and seq, and the Program generates the stream of
// allocations at any other size. Package record makes the recordings.
//
// The path of the data, one file per step:
//
//	point.go      "batch=2,seq=128"
//	lifetimes.go  a recording as a sequence of allocations
//	check.go, likely.go  which recordings are refused
//	align.go      which allocations of two recordings correspond, and where the recordings
//	                differ (resync.go)
//	formula.go    the size of an allocation as a function of the quantities
//	solve.go      the simplest formula that gives every recorded size, or a bound (bound.go)
//	fit.go        recordings → Program, by way of
//	write.go        one recording's events, with
//	column_sum.go     buffers of sums over rows (found in column_sum_find.go)
//	convolution.go    workspaces of measured convolutions (their forward: convolution_forward.go)
//	convolution_guess.go  workspaces of convolutions similar to measured ones
//	workspace.go      all other workspaces (and their calls: workspace_call.go)
//	steady.go       the steps that come after the recorded ones
//	generate.go   Program → the stream at any size
//	predict.go    plays the stream through the allocator, or
//	predict_peaks.go  through a faster one that gives only the peaks
//	requested.go  the memory that no allocator can do without
//	margin.go     how far a run may be from its prediction, by cause (worst_case.go, residuals.go), with
//	rescaled.go     different sizes for allocations without a formula
//	updates.go      skipped updates
//	elsewhere.go    other cards
//	run.go        the stream for the planner's allocator
//	facts.go      what else is known: parameters, step times
//	file.go       the program as a small file, memory.snug, with its limits (file_limits.go) and
//	                parts (file_code.go, file_formula.go, file_repeat.go, file_variant.go)
//	ragged.go     steps of different sizes; lists its own files
//
// Nothing is guessed silently: an allocation whose sizes no simple formula explains gets an upper bound, and the
// answer reports how many bytes of the peak depend on such bounds.
package profile

import (
	"snug/internal/allocator"
	"snug/internal/kernel"
	"snug/internal/stream"
)

// Program is a training step as a function of its sizes.
type Program struct {
	Names    []string          // the quantities that were varied, in order
	Fixed    Point             // the quantities that were named but did not vary
	Torch    allocator.Version // the recorded PyTorch release
	Options  allocator.Options // the recorded allocator options
	Card     string            // the recorded card; "" if unknown
	Facts    Facts             // what else was recorded: parameters, step times
	Warnings []string          // signs that the recordings are not what the user claims; not stored in a file

	ragged   *ragged       // how steps differ from one another; nil if all are the same
	on       *kernel.Rules // rules of another card; nil means the recorded card
	monos    []monomial
	formulas []formula
	variants []variant
}

// variant is the program as one recording ran it. Kernels change with size, so the order of events is taken from the
// recording nearest to the requested size.
type variant struct {
	at     []int64
	queues []uint64
	start  []allocator.SegmentState
	events []event
	made   uint32 // number of allocations, including those before the first event
	before uint32 // allocations before the first event
	whole  whole
}

// event is a stream.Event whose size is a formula.
type event struct {
	id      uint32
	formula uint32 // for an Alloc
	queue   uint16
	kind    stream.Kind
}

// Recorded returns the sizes that the program was made from.
func (p *Program) Recorded() []Point {
	var out []Point
	for i := range p.variants {
		at := Point{}
		for k, name := range p.Names {
			at[name] = p.variants[i].at[k]
		}
		out = append(out, at)
	}
	return out
}

// Certainties counts the allocations in the largest recording by the certainty of their formulas.
func (p *Program) Certainties() map[Certainty]int {
	out := map[Certainty]int{}
	v := &p.variants[len(p.variants)-1]
	for i := range v.events {
		if e := &v.events[i]; e.kind == stream.Alloc {
			out[p.formulas[e.formula].certainty]++
		}
	}
	return out
}
