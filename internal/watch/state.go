// SPDX-License-Identifier: Apache-2.0

package watch

// State is a reading's verdict, as --json writes it.
type State string

// The states.
const (
	WarmingUp    State = "warming-up"    // too early to tell
	Good         State = "good"          // steady, and the card is well used
	Underused    State = "underused"     // steady, and most of the card is idle
	NearLimit    State = "near-limit"    // steady, and hardly any memory is left
	Leaking      State = "leaking"       // tensors kept from step to step are filling the card
	CacheOnly    State = "cache-only"    // PyTorch's cache grows, but memory in use does not
	Ragged       State = "ragged"        // memory follows the shape of the batch
	Evaluating   State = "evaluating"    // an evaluation is running
	Thrashing    State = "thrashing"     // the allocator keeps flushing its cache
	Starved      State = "starved"       // the GPU is waiting for data
	OtherProcess State = "other-process" // another process uses part of the card
	OutOfMemory  State = "out-of-memory" // a request for memory failed
	Ended        State = "ended"         // the run is over
)

// States lists all states, the most urgent first.
var States = []State{OutOfMemory, Leaking, Thrashing, NearLimit, OtherProcess, Starved, CacheOnly, Ragged, Underused, Evaluating, Good, WarmingUp, Ended}

// Reading is the conclusion from the samples so far.
type Reading struct {
	T            float64     `json:"t"`                        // seconds since the start
	Step         int         `json:"step"`                     // the latest training step
	PID          int         `json:"pid,omitempty"`            // the process, if more than one is watched
	GPU          *int        `json:"gpu,omitempty"`            // the card, if more than one is watched
	State        State       `json:"state"`                    // the verdict
	Why          string      `json:"why"`                      // the evidence for the state, in one sentence
	StepsToOOM   *[3]int     `json:"steps_to_oom,omitempty"`   // steps until memory runs out (low, middle, high), if it grows
	SecondsToOOM *[3]float64 `json:"seconds_to_oom,omitempty"` // StepsToOOM in seconds
	Advice       string      `json:"advice,omitempty"`         // what to do
	Predicted    *Predicted  `json:"predicted,omitempty"`      // the prediction and the measurement, if there is a prediction
	Ranks        []Rank      `json:"ranks,omitempty"`          // the processes of one run, if there are several
}
