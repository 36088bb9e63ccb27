// SPDX-License-Identifier: Apache-2.0

// Package tune decides which settings of a training run to try next on a real GPU, and when to stop. It
// runs nothing: the caller runs a trial and tells the climb how it went. The same results in the same
// order lead to the same decisions, so an interrupted tune continues where it stopped.
//
// The climb starts at the prediction, not at a batch of 1. The memory of a candidate is predicted to
// within a step, so the first trial confirms the prediction or shows how far it is off, and the other
// predictions are scaled by that factor. A further trial has to be worth its time: it is run if the candidate may be
// faster than the best so far by more than the noise of the measurements. So usually two or three trials
// are enough:
//
//	the prediction      does it fit, and how fast is it?
//	another variant     without checkpointing, with a fused optimizer, …: each is tried once, at
//	                    its best batch
//	a neighbour         the next smaller or larger batch of the best variant
//	a repeat            if a gain is about as large as the noise, the candidate is measured again
//
// Every candidate has the same effective batch. The answer always comes from a trial that fit.
//
//	tune.go      candidates and results
//	climb.go     the climb: what is next, what is best
//	predict.go   memory and speed of what was not tried yet
//	ahead.go     what to try while other trials run, and how many are left
//	words.go     the decisions in words, with their evidence
//	steady.go    the speed of a run, and how sure it is
package tune

import (
	"fmt"

	"snug/internal/setup"
)

// Candidate is one way to run that may be tried.
type Candidate struct {
	Settings     setup.Values // what a trial sets; batch and accumulation are among them
	Variant      string       // what it changes besides batch and accumulation, "checkpointing=false"; "" for nothing
	Batch        int          // samples per GPU and forward
	Accumulation int          // forwards per step
	World        int          // GPUs, at least 1

	Predicted uint64  // most bytes that PyTorch reserves, as predicted; 0 if that is not known
	Expected  float64 // predicted samples per second; 0 if that is not known
}

// Key identifies a candidate.
func (c Candidate) Key() string { return c.Settings.String() }

// Effective returns the samples per optimizer step.
func (c Candidate) Effective() int { return c.Batch * c.Accumulation * max(c.World, 1) }

// Size returns batch and accumulation, "8 x 4".
func (c Candidate) Size() string { return fmt.Sprintf("%d x %d", c.Batch, c.Accumulation) }

// Name returns the candidate in a few words.
func (c Candidate) Name() string {
	if c.Variant == "" {
		return "batch " + c.Size()
	}
	return "batch " + c.Size() + ", " + c.Variant
}

// Outcome is how a trial ended.
type Outcome string

// The outcomes.
const (
	Fits        Outcome = "ok"            // it trained
	OutOfMemory Outcome = "out-of-memory" // a process asked for GPU memory that was not there
	Crashed     Outcome = "crashed"       // the command failed for another reason
	Hung        Outcome = "hung"          // it exceeded a time limit
	Interrupted Outcome = "interrupted"   // the user ended it: it says nothing
	Lost        Outcome = "lost"          // the job was cancelled or preempted, or its machine failed: it says nothing
)

// IsEvidence reports whether an outcome says something about the settings.
func (o Outcome) IsEvidence() bool { return o != Interrupted && o != Lost }

// Result is what a trial has shown.
type Result struct {
	Outcome   Outcome `json:"outcome"`
	Reserved  uint64  `json:"reserved,omitempty"`  // peak of a GPU, in bytes
	Allocated uint64  `json:"allocated,omitempty"` // peak of a GPU, in bytes
	Lasting   uint64  `json:"lasting,omitempty"`   // bytes that stay from step to step: weights, gradients, optimizer states
	Rate      float64 `json:"samples_per_second,omitempty"`
	Noise     float64 `json:"noise,omitempty"`   // of the rate, as a share of it
	Steps     int     `json:"steps,omitempty"`   // optimizer steps
	Retries   int     `json:"retries,omitempty"` // times that PyTorch flushed its cache after the first steps to make room
	Growth    uint64  `json:"growth,omitempty"`  // bytes per step by which memory still grew at the end
	Seconds   float64 `json:"seconds,omitempty"` // that the trial took
	Why       string  `json:"why,omitempty"`     // the evidence for an outcome other than ok
	Longest   string  `json:"longest,omitempty"` // what is known of the longest batch
	Ranks     []Rank  `json:"ranks,omitempty"`   // of a run with several processes
}

// Rank is the peak of one process of several.
type Rank struct {
	Rank      int    `json:"rank"`
	Reserved  uint64 `json:"reserved"`  // bytes
	Allocated uint64 `json:"allocated"` // bytes
}

// Trial is a candidate that was tried.
type Trial struct {
	Candidate
	Result
	Times int // how often it was measured
}
