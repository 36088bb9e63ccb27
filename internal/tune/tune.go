// SPDX-License-Identifier: Apache-2.0

// Package tune decides which settings of a training run to try next on a real GPU, and when to stop. It runs nothing:
// the caller runs a trial and records its result. The same results in the same order lead to the same decisions, so
// an interrupted tune continues where it stopped.
//
// The climb starts at the prediction, not at a batch of 1. Memory is predicted closely, so the
// first trial confirms the prediction or shows how far it is off, and the other predictions are scaled by that
// factor. A further trial must be worth its time: it is run only if the candidate may be faster than the best so far
// by more than the measurement noise. So two or three trials are usually enough:
//
//	the prediction      does it fit, and how fast is it?
//	another variant     without checkpointing, with a fused optimizer, …: each is tried once, at
//	                    its best batch
//	a neighbor          the next smaller or larger batch of the best variant
//	a repeat            if a gain is about as large as the noise, the candidate is measured again
//
// Every candidate has the same effective batch. The answer always comes from a trial that fit.
//
//	tune.go      candidates and results
//	climb.go     the climb: the next trial and the best one
//	predict.go   memory and speed of untried candidates
//	ahead.go     what to try while other trials run, and how many are left
//	words.go     describes the decisions with their evidence
//	steady.go    a run's speed and its uncertainty
package tune

import (
	"fmt"

	"snug/internal/setup"
)

// Candidate is one combination of settings that may be tried.
type Candidate struct {
	Settings     setup.Values // what a trial sets, including batch and accumulation
	Variant      string       // settings other than batch and accumulation, such as "checkpointing=false"; "" for none
	Batch        int          // samples per GPU in each forward pass
	Accumulation int          // forward passes per step
	World        int          // GPUs, at least 1

	Predicted uint64  // predicted peak of reserved bytes; 0 if unknown
	Expected  float64 // predicted samples per second; 0 if unknown
}

// Key identifies a candidate.
func (c Candidate) Key() string { return c.Settings.String() }

// Effective returns the samples per optimizer step.
func (c Candidate) Effective() int { return c.Batch * c.Accumulation * max(c.World, 1) }

// Size returns batch and accumulation, "8 x 4".
func (c Candidate) Size() string { return fmt.Sprintf("%d x %d", c.Batch, c.Accumulation) }

// Name returns a short description of the candidate.
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
	Fits        Outcome = "ok"            // the command trained
	OutOfMemory Outcome = "out-of-memory" // a process ran out of GPU memory
	Crashed     Outcome = "crashed"       // the command failed for another reason
	Hung        Outcome = "hung"          // the trial exceeded a time limit
	Interrupted Outcome = "interrupted"   // the user ended it; not evidence
	Lost        Outcome = "lost"          // the job was canceled or preempted, or its machine failed; not evidence
)

// IsEvidence reports whether an outcome is evidence about the settings.
func (o Outcome) IsEvidence() bool { return o != Interrupted && o != Lost }

// Result is the result of a trial.
type Result struct {
	Outcome   Outcome `json:"outcome"`                      // how the trial ended
	Reserved  uint64  `json:"reserved,omitempty"`           // peak on one GPU, in bytes
	Allocated uint64  `json:"allocated,omitempty"`          // peak on one GPU, in bytes
	Lasting   uint64  `json:"lasting,omitempty"`            // bytes kept between steps: weights, gradients, optimizer states
	Rate      float64 `json:"samples_per_second,omitempty"` // samples per second, over all GPUs
	Noise     float64 `json:"noise,omitempty"`              // relative noise of the rate
	Steps     int     `json:"steps,omitempty"`              // optimizer steps
	Retries   int     `json:"retries,omitempty"`            // number of cache flushes after the first steps
	Growth    uint64  `json:"growth,omitempty"`             // bytes per step that memory still grew by at the end
	Seconds   float64 `json:"seconds,omitempty"`            // duration of the trial
	Why       string  `json:"why,omitempty"`                // the evidence for an outcome other than ok
	Longest   string  `json:"longest,omitempty"`            // what is known about the longest batch
	Ranks     []Rank  `json:"ranks,omitempty"`              // one for each process, if there are several
}

// Rank is one process's peak.
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
