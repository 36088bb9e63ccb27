// SPDX-License-Identifier: Apache-2.0

package snug

import "encoding/json"

// Answer is what a run takes on one GPU. In JSON it is what `snug estimate --json` prints.
type Answer struct {
	ID string `json:"id"`
	// PeakAllocated is the most that tensors take at once, PeakReserved the most that
	// PyTorch has from the driver: with fragmentation.
	PeakAllocated Bytes `json:"peak_allocated"`
	PeakReserved  Bytes `json:"peak_reserved"`
	// Outside is what the process holds outside PyTorch's allocator: the CUDA context
	// and loaded kernels.
	Outside Bytes `json:"outside"`
	// DevicePeak is PeakReserved plus Outside: what nvidia-smi would show.
	DevicePeak Bytes `json:"device_peak"`
	// Phases is the peak of each part of a step. It is zero for a recorded run.
	Phases Phases `json:"phases,omitzero"`
	// Components is what the memory at the peak is for.
	Components Components `json:"components,omitzero"`
	// Params and Trainable count the model's parameters.
	Params    int `json:"params,omitempty"`
	Trainable int `json:"trainable,omitempty"`
	// StepSeconds is how long an optimizer step takes. It is an estimate, and 0 where no card
	// was named.
	StepSeconds float64 `json:"step_seconds,omitempty"`
	// Fits is whether the run fits the card and its limit, nil where there is neither. The
	// figures of a run that does not fit are those of a larger card.
	Fits *bool `json:"fits,omitempty"`
	// Source is whether the run was simulated or recorded.
	Source Source `json:"source"`
	// Interval is what PeakReserved is expected to be between.
	Interval [2]Bytes `json:"interval"`
	// Evidence is the measured runs that the interval comes from.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Notes is what the figures leave out or take for granted.
	Notes []string `json:"notes,omitempty"`

	// Setup is the run that was estimated, with every default filled in.
	Setup *Setup `json:"-"`
}

// Phases is the peak of allocated bytes in each part of the run.
type Phases struct {
	Load      Bytes `json:"load"`
	Forward   Bytes `json:"forward"`
	Backward  Bytes `json:"backward"`
	Optimizer Bytes `json:"optimizer"`
}

// Components is what the memory at the peak is for. They sum to PeakReserved.
type Components struct {
	Parameters    Bytes `json:"parameters"`
	Gradients     Bytes `json:"gradients"`
	Optimizer     Bytes `json:"optimizer"` // its states
	Activations   Bytes `json:"activations"`
	Logits        Bytes `json:"logits"`
	Batch         Bytes `json:"batch"` // the inputs
	Temporaries   Bytes `json:"temporaries"`
	Workspace     Bytes `json:"workspace"`     // of kernels
	Fragmentation Bytes `json:"fragmentation"` // reserved, and in no tensor

	// Recorded says that a profile tells no more than what stays apart: Logits, Batch,
	// Temporaries and Workspace are in Activations then, and left out of JSON.
	Recorded bool `json:"-"`
}

// recordedComponents is what of them a profile tells apart.
type recordedComponents struct {
	Parameters    Bytes `json:"parameters"`
	Gradients     Bytes `json:"gradients,omitempty"`
	Optimizer     Bytes `json:"optimizer"`
	Activations   Bytes `json:"activations"`
	Fragmentation Bytes `json:"fragmentation"`
}

// plainComponents is Components without its own way into JSON.
type plainComponents Components

// MarshalJSON leaves out what a profile does not tell apart.
func (c Components) MarshalJSON() ([]byte, error) {
	if !c.Recorded {
		return json.Marshal(plainComponents(c))
	}
	return json.Marshal(recordedComponents{c.Parameters, c.Gradients, c.Optimizer, c.Activations, c.Fragmentation})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (c *Components) UnmarshalJSON(data []byte) error {
	var names map[string]Bytes
	if err := json.Unmarshal(data, &names); err != nil {
		return err
	}
	_, apart := names["logits"]
	var in plainComponents
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = Components(in)
	c.Recorded = !apart
	return nil
}

// Evidence is the measured runs that an interval comes from.
type Evidence struct {
	Runs   int    `json:"runs"`
	Family string `json:"family,omitempty"` // of all of them; empty where any counts
	Option string `json:"option,omitempty"` // that all of them had; empty where any counts
	Card   string `json:"card,omitempty"`   // that they were made on
	Torch  string `json:"torch,omitempty"`  // and with
	Lacks  string `json:"lacks,omitempty"`  // what none of them had
}

// MaxAnswer is the largest batch that fits. In JSON it is what `snug max-batch --json`
// prints.
type MaxAnswer struct {
	ID string `json:"id"`
	// MaxBatch is 0 where not even 1 fits.
	MaxBatch int `json:"max_batch"`
	// PeakReserved is what it takes at that batch, or what a batch of 1 would take.
	PeakReserved Bytes `json:"peak_reserved"`
	// Notes is what the figures leave out or take for granted.
	Notes []string `json:"notes,omitempty"`

	// Best is the run at MaxBatch, nil where that is 0.
	Best *Answer `json:"-"`
	// Next is the run at one more, nil where larger ones were not tried.
	Next *Answer `json:"-"`
}
