// SPDX-License-Identifier: Apache-2.0

// Package profile predicts the memory of any model from recordings. It fits a
// few short recordings of the training step at small sizes to a Program with
// parameters such as batch and seq, and the Program generates the stream of
// allocations at any other size. Package record makes the recordings.
//
// The path of the data, one file per step:
//
//	point.go      "batch=2,seq=128"
//	lifetimes.go  a recording as a sequence of allocations
//	check.go, likely.go  which recordings are refused
//	align.go      which allocation of one recording is which of another, and where they
//	                differ (resync.go)
//	formula.go    the size of an allocation as a function of the quantities
//	solve.go      the simplest formula that gives every recorded size, or a bound (bound.go)
//	fit.go        recordings → Program, by way of
//	write.go        one recording's events, with
//	column_sum.go     buffers of sums over rows
//	convolution.go    workspaces of convolutions that were measured
//	convolution_guess.go  of those like them
//	workspace.go      and of all others
//	steady.go       and the steps that come after those recorded
//	generate.go   Program → the stream at any size
//	predict.go    the stream through the allocator, or
//	predict_peaks.go  the events through a lean one, for peaks alone
//	margin.go     how far a run may be from that, by cause (worst_case.go, residuals.go), with
//	rescaled.go     other sizes for what has no formula
//	updates.go      updates that are left out
//	elsewhere.go    and other cards
//	run.go        the stream for another's allocator, to plan with
//	facts.go      what is known beside the stream: parameters, seconds
//	file.go       the program as a small file, memory.snug, and its limits (file_limits.go)
//
// Nothing is guessed: an allocation whose sizes no simple formula explains gets
// an upper bound, and the answer reports how many bytes of the peak depend on
// such bounds.
package profile

import (
	"snug/internal/allocator"
	"snug/internal/kernel"
	"snug/internal/stream"
)

// Program is a training step as a function of its sizes.
type Program struct {
	Names   []string          // the quantities that were varied, in order
	Fixed   Point             // the quantities that were named and stayed the same
	Torch   allocator.Version // the PyTorch release of the recordings
	Options allocator.Options // the allocator options of the recordings
	Card    string            // the card of the recordings; "" if not known
	Facts   Facts             // what else was recorded: parameters, step times
	Doubts  []string          // signs that the recordings are not what the user says; not stored in a file

	ragged   *ragged       // how steps differ from one another; nil if they do not
	on       *kernel.Rules // rules of another card; nil means the card of the recordings
	monos    []monomial
	formulas []formula
	variants []variant
}

// variant is the program as one recording ran it. Kernels change with size, so
// the order of events is taken from the recording nearest to the size asked for.
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
	formula uint32 // of an Alloc
	queue   uint16
	kind    stream.Kind
}

// Recorded lists the sizes that the program was made from.
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

// Certainties counts the allocations of the largest recording by how well their
// formulas are known.
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
