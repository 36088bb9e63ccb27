// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"encoding/json"
	"maps"
	"slices"

	"snug/internal/setup"
)

// PlanOptions is what a plan has to keep to. The zero value is today's effective batch,
// the whole card, and nothing locked.
type PlanOptions struct {
	// Target is the effective batch: batch × accumulation × GPUs.
	Target int
	// Goal is what matters most.
	Goal Goal
	// Margin is the share of the card that stays free, from 0 to below 1.
	Margin float64
	// Reserve is the part of the card that is for others.
	Reserve Bytes
	// Lock is the fields of the setup that stay as they are, as JSON names them: "precision",
	// "dist".
	Lock []string
	// Allow is the fields that may change although it changes what is trained: "seq",
	// "negatives", "precision", "optimizer".
	Allow []string
}

// Plan is the settings that were chosen for a card, and why. In JSON it is what
// `snug optimize --json` prints.
type Plan struct {
	// GPU is the card's name.
	GPU string `json:"gpu"`
	// Current is the run as it is.
	Current *Choice `json:"current"`
	// Recommended is the run as it should be, nil where nothing fits.
	Recommended *Choice `json:"recommended"`
	// Ladder is the fastest way to run within growing shares of the card.
	Ladder []Rung `json:"ladder"`
	// Levers is what could be changed to save memory, what saves most first.
	Levers []Lever `json:"levers"`
	// Rejected is what came close, and why it was not taken.
	Rejected []Rejection `json:"rejected"`
	// Files is what would change in the user's config files. [Optimize] reads none; the
	// command does.
	Files []FileChange `json:"files"`

	// Target is the effective batch that was planned for.
	Target int `json:"-"`
	// Room is what there was to fit into.
	Room Bytes `json:"-"`
	// Notes is what to know about the recommended settings.
	Notes []string `json:"-"`
	// Least is what takes least, where nothing fits. Rescue is then the shortest list of
	// levers that makes it fit, and Rescued the run with them; nil where none does.
	Least   *Choice  `json:"-"`
	Rescue  []string `json:"-"`
	Rescued *Choice  `json:"-"`
}

// Choice is one way to run. Its Estimate.Setup is the whole setup.
type Choice struct {
	Settings Settings `json:"settings"`
	Estimate *Answer  `json:"estimate"`
	// SamplesPerSecond is over all GPUs. It is an estimate, and 0 where the run does not
	// fit or nothing is known about its speed.
	SamplesPerSecond float64 `json:"samples_per_second"`

	// Change is how it differs from the run as it is, in words.
	Change string `json:"-"`
}

// Rung is the fastest way to run within a share of the card. Its Choice is nil where nothing
// fits into that.
type Rung struct {
	Name  string  `json:"name"` // "safe", "medium", "aggressive", "maximum"
	Share float64 `json:"share"`
	*Choice
	Risk string `json:"risk"`
}

// Lever is one change that saves memory, on its own, against the run as it is.
type Lever struct {
	Change string `json:"change"`
	Saves  Bytes  `json:"saves"` // of the peak
	Costs  string `json:"costs"`
}

// Rejection is a way to run that was not taken.
type Rejection struct {
	Settings Settings `json:"settings"`
	Why      string   `json:"why"`

	// Change is how it differs from what was chosen, in words.
	Change string `json:"-"`
}

// FileChange is a value in a config file that the recommended settings change.
type FileChange struct {
	Path string `json:"path"`
	Key  string `json:"key"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// Settings is the settings that a plan chooses, by the fields of a setup: "batch",
// "dist.kind". They always hold batch, accumulation and checkpointing. In JSON they are
// nested as in a setup.
type Settings map[string]any

// MarshalJSON nests the settings as a setup does.
func (s Settings) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		setup.Put(out, name, s[name])
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. Numbers are float64 then.
func (s *Settings) UnmarshalJSON(data []byte) error {
	var in setup.Values
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = settingsOf(in)
	return nil
}
