// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// Report is what one Python process has reported through the probe so far.
type Report struct {
	PID      int               // process ID
	Began    float64           // seconds since 1970
	Rank     int               // rank in a distributed run; -1 if not distributed
	World    int               // number of processes in a distributed run
	Versions map[string]string // versions of Python, torch and other loaded libraries
	GPU      *GPU              // nil if it used none
	NoGPU    bool              // it trained, but not on a GPU
	Batches  []Batch           // the inputs of the first steps
	Steps    []Step            // optimizer steps, in order
	Times    []float64         // seconds between step ends, by the GPU's clock
	Peaks    *Step             // memory at the end of the run
	Longest  *Longest          // what is known about the longest batch; nil if not requested
	State    *State            // memory at the end of the last recorded step
	Snapshot *Snapshot         // nil if none was written
	Kept     []Kept            // snapshots of failed requests, oldest first
	OOM      *Failure          // set if it ran out of memory
	Crash    *Failure          // set if it ended with another exception
	Failures []Failure         // the probe's own failures
	End      string            // "steps", "nogpu", "exit", or "" if it ended without reporting why
}

// GPU is the card that a process trained on.
type GPU struct {
	Index      int    `json:"index"`      // CUDA's index
	Name       string `json:"name"`       // as the driver reports it
	Total      uint64 `json:"total"`      // bytes
	Free       uint64 `json:"free"`       // bytes, before training
	Capability int    `json:"capability"` // compute capability: 90 for sm_90
	Recording  bool   `json:"recording"`  // whether memory was recorded
}

// Batch describes the arguments of the first module call in a step.
type Batch struct {
	Module        string  `json:"module"`        // the module's class
	Inputs        []Input `json:"inputs"`        // its tensor arguments
	Autocast      string  `json:"autocast"`      // the autocast type; "" if autocast is off
	Checkpointing bool    `json:"checkpointing"` // whether gradient checkpointing ran
}

// Input is one tensor of a batch.
type Input struct {
	Name   string `json:"name"`   // name of the argument
	Shape  []int  `json:"shape"`  // its dimensions
	Dtype  string `json:"dtype"`  // as PyTorch names it
	Device string `json:"device"` // as PyTorch names it
}

// Step is the state at the end of an optimizer step; peaks are since the start of the run.
type Step struct {
	N             int     `json:"n"`              // number of the step, from 1
	Optimizer     string  `json:"optimizer"`      // class of the optimizer, such as AdamW
	Backwards     int     `json:"backwards"`      // backward passes in this step
	Skipped       int     `json:"skipped"`        // updates that a gradient scaler skipped so far
	Seconds       float64 `json:"seconds"`        // seconds since the last step
	Allocated     uint64  `json:"allocated"`      // bytes
	Reserved      uint64  `json:"reserved"`       // bytes
	PeakAllocated uint64  `json:"peak_allocated"` // bytes
	PeakReserved  uint64  `json:"peak_reserved"`  // bytes
	Retries       int     `json:"retries"`        // times the cache was flushed to make room
}

// Longest says whether the run began with the longest samples in its dataset.
type Longest struct {
	Looked  int     `json:"looked"`  // samples examined; 0 if the dataset cannot be indexed
	Samples int     `json:"samples"` // samples in the dataset
	Alike   bool    `json:"alike"`   // all samples have the same length
	Shapes  [][]int `json:"shapes"`  // shapes of the tensors in the longest batch
}

// State is the memory that stays from step to step, in bytes, and the number of parameters.
type State struct {
	Parameters uint64         `json:"parameters"` // bytes
	Gradients  uint64         `json:"gradients"`  // bytes
	Optimizer  uint64         `json:"optimizer"`  // bytes of optimizer states
	Buffers    uint64         `json:"buffers"`    // bytes
	Params     int            `json:"params"`     // number of parameters
	Trainable  int            `json:"trainable"`  // number of trainable parameters
	Dtypes     map[string]int `json:"dtypes"`     // number of parameters by dtype
}

// Snapshot is a recording that the process wrote.
type Snapshot struct {
	File          string `json:"file"`           // the pickle file
	Entries       []int  `json:"entries"`        // number of trace entries per device
	PeakAllocated uint64 `json:"peak_allocated"` // bytes, by PyTorch's own count
	PeakReserved  uint64 `json:"peak_reserved"`  // bytes, by PyTorch's own count
}

// Kept is the snapshot of a failed request.
type Kept struct {
	File string  `json:"file"` // the pickle file
	Time float64 `json:"time"` // when it was written, in seconds since 1970
}

// Failure is an error in the run or in the probe.
type Failure struct {
	Type  string `json:"type"`  // class of the exception
	Where string `json:"where"` // the step or part of the probe
	What  string `json:"what"`  // the part of the probe that failed
	Asked uint64 `json:"asked"` // bytes of the failed request
	Steps int    `json:"steps"` // steps completed before the failure
}

// ReadReport reads a report. It skips lines that cannot be parsed: the last one may be incomplete, and a report must
// never cause a failure.
func ReadReport(text []byte) *Report {
	r := &Report{Rank: -1}
	for line := range bytes.Lines(text) {
		var head struct{ Event string }
		if json.Unmarshal(line, &head) == nil {
			r.take(head.Event, line)
		}
	}
	return r
}

// take adds one line of the report.
func (r *Report) take(event string, line []byte) {
	switch event {
	case "start":
		r.start(line)
	case "torch":
		x, _ := read[struct{ Versions map[string]string }](line)
		r.Versions = x.Versions
	case "rank":
		if x, ok := read[place](line); ok && x.Rank != nil {
			r.Rank, r.World = *x.Rank, x.World
		}
	case "gpu":
		r.GPU = pointer[GPU](line)
	case "nogpu":
		r.NoGPU = true
	case "batch":
		r.Batches = add(r.Batches, line)
	case "step":
		r.Steps = add(r.Steps, line)
	case "times":
		x, _ := read[struct{ Seconds []float64 }](line)
		r.Times = x.Seconds
	case "peaks":
		r.Peaks = pointer[Step](line)
	case "longest":
		r.Longest = pointer[Longest](line)
	case "state":
		r.State = pointer[State](line)
	case "snapshot":
		r.Snapshot = pointer[Snapshot](line)
	case "kept":
		r.keep(line)
	case "oom":
		r.OOM = pointer[Failure](line)
	case "exception":
		r.Crash = pointer[Failure](line)
	case "failure":
		r.Failures = add(r.Failures, line)
	case "end":
		x, _ := read[struct{ Why string }](line)
		r.End = x.Why
	}
}

// keep records a kept snapshot, replacing the one that it overwrote.
func (r *Report) keep(line []byte) {
	if k, ok := read[Kept](line); ok {
		r.Kept = append(slices.DeleteFunc(r.Kept, func(old Kept) bool { return old.File == k.File }), k)
	}
}

type place struct {
	Rank  *int `json:"rank"`
	World int  `json:"world_size"`
}

func (r *Report) start(line []byte) {
	x, _ := read[struct {
		place
		PID  int
		Time float64
	}](line)
	r.PID, r.Began, r.World = x.PID, x.Time, x.World
	if x.Rank != nil {
		r.Rank = *x.Rank
	}
}

func read[T any](line []byte) (T, bool) {
	var x T
	err := json.Unmarshal(line, &x)
	return x, err == nil
}

func pointer[T any](line []byte) *T {
	if x, ok := read[T](line); ok {
		return &x
	}
	return nil
}

func add[T any](list []T, line []byte) []T {
	if x, ok := read[T](line); ok {
		return append(list, x)
	}
	return list
}

// Trained reports whether the process has completed a step.
func (r *Report) Trained() bool { return len(r.Steps) > 0 }

// Ended reports whether the probe has ended the process.
func (r *Report) Ended() bool { return r.End == "steps" || r.End == "nogpu" }

// PeakReserved returns the most memory that PyTorch reserved on the card, as far as reported.
func (r *Report) PeakReserved() uint64 {
	peak := uint64(0)
	for _, s := range r.Steps {
		peak = max(peak, s.PeakReserved)
	}
	if r.Snapshot != nil {
		peak = max(peak, r.Snapshot.PeakReserved)
	}
	if r.Peaks != nil {
		peak = max(peak, r.Peaks.PeakReserved)
	}
	return peak
}

// PeakAllocated returns the most memory in tensors.
func (r *Report) PeakAllocated() uint64 {
	peak := uint64(0)
	for _, s := range r.Steps {
		peak = max(peak, s.PeakAllocated)
	}
	if r.Snapshot != nil {
		peak = max(peak, r.Snapshot.PeakAllocated)
	}
	if r.Peaks != nil {
		peak = max(peak, r.Peaks.PeakAllocated)
	}
	return peak
}

// StepSeconds returns the median time of a step after the first, 0 if unknown.
func (r *Report) StepSeconds() float64 {
	times := r.StepTimes()
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// StepTimes returns the time of each step after the first in seconds, by the GPU's clock or else by the host's.
func (r *Report) StepTimes() []float64 {
	if len(r.Times) > 0 {
		return slices.Clone(r.Times)
	}
	var out []float64
	for _, s := range r.Steps {
		if s.Seconds > 0 {
			out = append(out, s.Seconds)
		}
	}
	return out
}

func compareTimes(a, b float64) int { return cmp.Compare(a, b) }
