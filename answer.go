// SPDX-License-Identifier: Apache-2.0

package snug

import "encoding/json"

// Answer is what a run takes on one GPU. It marshals to the output of `snug estimate --json`.
type Answer struct {
	ID string `json:"id"` // copied from the setup
	// PeakAllocated is the peak memory in tensors. PeakReserved is the peak memory that PyTorch reserves on the card,
	// fragmentation included.
	PeakAllocated Bytes `json:"peak_allocated"`
	PeakReserved  Bytes `json:"peak_reserved"` // the most bytes that PyTorch reserves
	// Outside is the memory that the process uses outside PyTorch's allocator: the CUDA context and loaded kernels.
	Outside Bytes `json:"outside"`
	// DevicePeak is PeakReserved plus Outside, which is what nvidia-smi shows.
	DevicePeak Bytes `json:"device_peak"`
	// Phases is the peak of each part of a step. It is zero for a recorded run.
	Phases Phases `json:"phases,omitzero"`
	// Components is what the memory at the peak is used for.
	Components Components `json:"components,omitzero"`
	// Params and Trainable count the model's parameters.
	Params    int `json:"params,omitempty"`
	Trainable int `json:"trainable,omitempty"` // parameters that are trained
	// StepSeconds is the estimated duration of an optimizer step. It is 0 without a named card.
	StepSeconds float64 `json:"step_seconds,omitempty"`
	// Fits reports whether the run fits the card and its limit; nil if there is neither. If the run does not fit, the
	// other figures are for a card that is large enough.
	Fits *bool `json:"fits,omitempty"`
	// Versions are the PyTorch and transformers versions that were simulated, whether given or assumed.
	Versions Versions `json:"versions,omitzero"`
	// Source says whether the run was simulated or recorded.
	Source Source `json:"source"`
	// Interval is the lowest and the highest peak reservation to expect.
	Interval [2]Bytes `json:"interval"`
	// Evidence describes the measured runs that the interval comes from.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Lengths describes how the peak depends on sample lengths; nil if all samples have the same length.
	Lengths *Varying `json:"lengths,omitempty"`
	// Notes state what the figures omit or assume. The command prints most of them on standard error instead.
	Notes []string `json:"notes,omitempty"`

	// Setup is the run that was estimated, with every default filled in.
	Setup *Setup `json:"-"`
}

// Phases is the peak allocated memory in each part of the run.
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
	Optimizer     Bytes `json:"optimizer"`     // optimizer states
	Activations   Bytes `json:"activations"`   // tensors saved for the backward pass
	Logits        Bytes `json:"logits"`        // the output over the vocabulary, and the loss's copies of it
	Batch         Bytes `json:"batch"`         // the inputs
	Temporaries   Bytes `json:"temporaries"`   // tensors that live only during one op
	Workspace     Bytes `json:"workspace"`     // kernel workspaces
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

// MarshalJSON writes the components. It omits those that a profile does not distinguish.
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

// Evidence describes the measured runs that an interval comes from.
type Evidence struct {
	Runs   int    `json:"runs"`             // the number of measured runs
	Family string `json:"family,omitempty"` // their model family; empty if they are from several
	Option string `json:"option,omitempty"` // the option that all of them had; empty if they share none
	Card   string `json:"card,omitempty"`   // the card they ran on
	Torch  string `json:"torch,omitempty"`  // the PyTorch release they ran with
	Lacks  string `json:"lacks,omitempty"`  // a setting that none of them had, so they are only similar
}

// Varying has the figures that only a run with varying lengths has.
type Varying struct {
	Steps      int `json:"steps"`       // optimizer steps that were simulated
	Longest    int `json:"longest"`     // tokens of the longest batch
	PeakStep   int `json:"peak_step"`   // the step in which reserved memory peaked, counting from 1
	PeakLength int `json:"peak_length"` // tokens of that step's longest batch
	// Orders is the number of sample orders that were simulated; 0 if the lengths were given in order, or if the
	// run is too long to simulate several.
	Orders int `json:"orders,omitempty"`
	// Spread is the smallest and the largest peak reservation among those orders.
	Spread *[2]Bytes `json:"spread,omitempty"`
	// Growth pairs a number of steps with the bytes reserved after them.
	Growth [][2]Bytes `json:"growth"`
	// Remedies are changes that would reduce the reserved memory, best first.
	Remedies []Remedy `json:"remedies"`
}

// Remedy is a change to a run with varying lengths.
type Remedy struct {
	Change       string `json:"change"`        // a description of the change
	PeakReserved Bytes  `json:"peak_reserved"` // the peak reservation with the change
	Saves        Bytes  `json:"saves"`         // the reduction
}

// MaxAnswer is the largest batch that fits. It marshals to the output of `snug max-batch --json`.
type MaxAnswer struct {
	ID string `json:"id"` // the ID of the setup
	// MaxBatch is 0 if not even a batch of 1 fits.
	MaxBatch int `json:"max_batch"`
	// PeakReserved is the run's peak reservation at that batch, or at a batch of 1 if not even that fits.
	PeakReserved Bytes `json:"peak_reserved"`
	// SureBatch is the largest batch that fits with its whole interval; 0 if none does.
	SureBatch int `json:"sure_batch"`
	// Notes state what the figures omit or assume.
	Notes []string `json:"notes,omitempty"`

	// Best is the run at MaxBatch; nil if MaxBatch is 0.
	Best *Answer `json:"-"`
	// Next is the run with one more sample; nil if the search ended before it.
	Next *Answer `json:"-"`
}
