// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"encoding/json"
	"maps"
	"slices"

	"snug/internal/setup"
)

// PlanOptions are the constraints on a plan. The zero value keeps the setup's effective batch, uses the whole card
// and locks nothing.
type PlanOptions struct {
	// Target is the effective batch, batch × accumulation × GPUs; 0 means the setup's own.
	Target int
	// Goal is what matters most.
	Goal Goal
	// Margin is the share of the card to leave free, at least 0 and less than 1.
	Margin float64
	// Reserve is the card memory that other processes need.
	Reserve Bytes
	// Lock names the fields of the setup that must not change, such as "precision" or "dist".
	Lock []string
	// Allow names the fields that may change even though this changes what is trained: "seq", "positives",
	// "negatives", "precision", "optimizer", "lora", "quantization", "liger", or "all".
	Allow []string
}

// Plan is the settings chosen for a card, with the reasons. It marshals to the output of `snug optimize --json`.
type Plan struct {
	// GPU is the card's name.
	GPU string `json:"gpu"`
	// Current is the run as given.
	Current *Choice `json:"current"`
	// Recommended is the recommended run; nil if nothing fits.
	Recommended *Choice `json:"recommended"`
	// Ladder is the fastest choice within each of several shares of the card, the smallest share first.
	Ladder []Rung `json:"ladder"`
	// Levers are the changes that save memory, largest saving first.
	Levers []Lever `json:"levers"`
	// Rejected lists the choices that came close, with the reason for rejecting each.
	Rejected []Rejection `json:"rejected"`
	// Files are the changes to config files. Only the command sets Files; [Optimize] reads no config files.
	Files []FileChange `json:"files"`

	// Target is the effective batch of the plan.
	Target int `json:"-"`
	// Room is the memory that the plan had to fit into.
	Room Bytes `json:"-"`
	// Notes contain remarks on the recommended settings, and on what the figures omit or assume.
	Notes []string `json:"notes,omitempty"`
	// Least is the choice that takes the least memory if nothing fits.
	Least *Choice `json:"-"`
	// Rescue is the shortest list of levers that makes the run fit, set if nothing else does.
	Rescue []string `json:"-"`
	// Rescued is the run with Rescue; nil if there is none.
	Rescued *Choice `json:"-"`
}

// Choice is one way to run: the settings that a plan chooses, and their estimate. The estimate's Setup is the whole
// run.
type Choice struct {
	Settings Settings `json:"settings"` // the values that the plan chose
	Estimate *Answer  `json:"estimate"` // memory and step time
	// SamplesPerSecond is the estimated speed over all GPUs. It is 0 if the run does not fit or its speed is unknown.
	SamplesPerSecond float64 `json:"samples_per_second"`

	// Change describes how the choice differs from the current run.
	Change string `json:"-"`
}

// Rung is the fastest way to run within a share of the card. Its Choice is nil if nothing fits.
type Rung struct {
	Name  string  `json:"name"`  // "safe", "medium", "aggressive", "maximum"
	Share float64 `json:"share"` // the largest share of the card that may be used; 1 means all of it
	*Choice
	Risk string `json:"risk"` // a description of what can go wrong
}

// Lever is a single change to the current run that saves memory.
type Lever struct {
	Change string `json:"change"` // a description of the change
	Saves  Bytes  `json:"saves"`  // the reduction of the peak
	Costs  string `json:"costs"`  // a description of the cost
}

// Rejection is a way to run that was not chosen.
type Rejection struct {
	Settings Settings `json:"settings"` // the settings that were considered
	Why      string   `json:"why"`      // the reason

	// Change describes how it differs from the chosen settings.
	Change string `json:"-"`
}

// FileChange is a value in a config file that the recommended settings change.
type FileChange struct {
	Path string `json:"path"` // relative to the project
	Key  string `json:"key"`  // the key in the file
	From any    `json:"from"` // the old value
	To   any    `json:"to"`   // the new value
}

// Settings are the values that a plan chooses, by setup field, such as "batch" or "dist.kind". "batch",
// "accumulation" and "checkpointing" are always present. In JSON they are nested as in a setup.
type Settings map[string]any

// MarshalJSON nests the settings as a setup does.
func (s Settings) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		setup.Put(out, name, s[name])
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. Numbers become float64.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var in setup.Values
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = settingsOf(in)
	return nil
}
