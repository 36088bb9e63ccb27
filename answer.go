// SPDX-License-Identifier: Apache-2.0

package snug

import "encoding/json"

// Answer is what a run takes on one GPU. It marshals to the output of `snug estimate --json`.
type Answer struct {
	ID string `json:"id"` // the ID of the setup
	// PeakAllocated is the most that tensors take at once. PeakReserved is the most that
	// PyTorch takes from the card, fragmentation included.
	PeakAllocated Bytes `json:"peak_allocated"`
	PeakReserved  Bytes `json:"peak_reserved"` // the most bytes that PyTorch takes from the driver
	// Outside is what the process holds outside PyTorch's allocator: the CUDA context
	// and loaded kernels.
	Outside Bytes `json:"outside"`
	// DevicePeak is PeakReserved plus Outside, which is what nvidia-smi shows.
	DevicePeak Bytes `json:"device_peak"`
	// Phases is the peak of each part of a step. It is zero for a recorded run.
	Phases Phases `json:"phases,omitzero"`
	// Components is what the memory at the peak is used for.
	Components Components `json:"components,omitzero"`
	// Params and Trainable count the model's parameters.
	Params    int `json:"params,omitempty"`
	Trainable int `json:"trainable,omitempty"` // the parameters that are trained
	// StepSeconds is how long an optimizer step takes. It is an estimate, and 0 without a
	// named card.
	StepSeconds float64 `json:"step_seconds,omitempty"`
	// Fits reports whether the run fits the card and its limit; nil if there is neither. If it
	// does not fit, the other figures are for a card that is large enough.
	Fits *bool `json:"fits,omitempty"`
	// Versions are the PyTorch and transformers versions that were simulated, whether given or assumed.
	Versions Versions `json:"versions,omitzero"`
	// Source says whether the run was simulated or recorded.
	Source Source `json:"source"`
	// Interval is the least and the most that the run is expected to reserve.
	Interval [2]Bytes `json:"interval"`
	// Evidence is the measured runs that the interval comes from.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Lengths is how the peak depends on the lengths of samples; nil if all are equal.
	Lengths *Varying `json:"lengths,omitempty"`
	// Notes say what the figures leave out or assume. The command prints most of them on
	// standard error instead.
	Notes []string `json:"notes,omitempty"`

	// Setup is the run that was estimated, with every default filled in.
	Setup *Setup `json:"-"`
}

// Phases is the peak of allocated bytes in each part of the run.
type Phases struct {
	Load       Bytes `json:"load"`                 // while the model is loaded
	Forward    Bytes `json:"forward"`              // in the forward pass
	Backward   Bytes `json:"backward"`             // in the backward pass
	Optimizer  Bytes `json:"optimizer"`            // in the optimizer's step
	Evaluation Bytes `json:"evaluation,omitempty"` // in forward passes without gradients, if the loop has any
}

// Components is what the memory at the peak is used for. The fields sum to PeakReserved.
type Components struct {
	Parameters    Bytes `json:"parameters"`    // weights
	Gradients     Bytes `json:"gradients"`     // gradients of the weights
	Optimizer     Bytes `json:"optimizer"`     // its states
	Activations   Bytes `json:"activations"`   // tensors saved for the backward pass
	Logits        Bytes `json:"logits"`        // the output over the vocabulary, and the loss's copies of it
	Batch         Bytes `json:"batch"`         // the inputs
	Temporaries   Bytes `json:"temporaries"`   // tensors that live within one op
	Workspace     Bytes `json:"workspace"`     // of kernels
	Fragmentation Bytes `json:"fragmentation"` // reserved bytes that hold no tensor

	// Recorded is set for a profile, which does not distinguish activations, logits, batch, temporaries
	// and workspace: Activations is the sum of all five, and the JSON omits the other four.
	Recorded bool `json:"-"`
}

// recordedComponents are the components that a profile distinguishes.
type recordedComponents struct {
	Parameters    Bytes `json:"parameters"`
	Gradients     Bytes `json:"gradients,omitempty"`
	Optimizer     Bytes `json:"optimizer"`
	Activations   Bytes `json:"activations"`
	Fragmentation Bytes `json:"fragmentation"`
}

// plainComponents is Components without its methods for JSON.
type plainComponents Components

// MarshalJSON writes the components. Those that a profile does not distinguish are left out.
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
	Runs   int    `json:"runs"`             // the number of measured runs
	Family string `json:"family,omitempty"` // the family of the runs; empty if they are of several
	Option string `json:"option,omitempty"` // the option that all of the runs had; empty if they share none
	Card   string `json:"card,omitempty"`   // the card of the runs
	Torch  string `json:"torch,omitempty"`  // the PyTorch release of the runs
	Lacks  string `json:"lacks,omitempty"`  // what none of the runs had, so they are only similar
}

// Varying is what is known about a run of varying lengths besides its figures.
type Varying struct {
	Steps      int `json:"steps"`       // optimizer steps that were simulated
	Longest    int `json:"longest"`     // tokens of the longest batch among them
	PeakStep   int `json:"peak_step"`   // the step that the peak of reserved bytes was reached in, from 1
	PeakLength int `json:"peak_length"` // tokens of the longest batch of that step
	// Orders is how many orders of the samples were simulated; 0 if lengths were given in
	// their order, or the run is too long for that.
	Orders int `json:"orders,omitempty"`
	// Spread is the least and the most bytes that they reserved.
	Spread *[2]Bytes `json:"spread,omitempty"`
	// Growth is pairs of a number of steps and the bytes reserved after them.
	Growth [][2]Bytes `json:"growth"`
	// Remedies are changes with which the run would reserve less, best first.
	Remedies []Remedy `json:"remedies"`
}

// Remedy is a change to a run of varying lengths.
type Remedy struct {
	Change       string `json:"change"`        // in words
	PeakReserved Bytes  `json:"peak_reserved"` // what the run would reserve with it
	Saves        Bytes  `json:"saves"`         // how much less that is
}

// MaxAnswer is the largest batch that fits. It marshals to the output of `snug max-batch --json`.
type MaxAnswer struct {
	ID string `json:"id"` // the ID of the setup
	// MaxBatch is 0 if not even a batch of 1 fits.
	MaxBatch int `json:"max_batch"`
	// PeakReserved is what the run takes at that batch, or what a batch of 1 would take if
	// not even that fits.
	PeakReserved Bytes `json:"peak_reserved"`
	// SureBatch is the largest batch that fits with its whole interval, 0 if none does.
	SureBatch int `json:"sure_batch"`
	// Notes say what the figures leave out or assume.
	Notes []string `json:"notes,omitempty"`

	// Best is the run at MaxBatch, nil if that is 0.
	Best *Answer `json:"-"`
	// Next is the run with one more sample, nil if the search ended before it.
	Next *Answer `json:"-"`
}
