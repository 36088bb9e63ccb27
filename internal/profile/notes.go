// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"fmt"
	"slices"
)

// notes is what the probe saw besides memory: what the model was called with in each step, what the data
// loader gave, and what the data has beyond the recorded steps.
type notes struct {
	Ends    []int64 `json:"ends"` // ends of the optimizer steps, in microseconds since the epoch
	Calls   []noted `json:"calls"`
	Batches []noted `json:"batches"`
	Loader  struct {
		Sampler string `json:"sampler"` // the class that chooses the samples of a batch
		Samples int64  `json:"samples"` // the number of samples in the data set
	} `json:"loader"`
	Ahead struct {
		Samples []inputs `json:"samples"` // batches of one sample
		Groups  []inputs `json:"groups"`  // batches of the samples 0 to 3, 4 to 7, …
		Order   []inputs `json:"order"`   // batches of one sample, in the order in which the run takes them, from its first step on
		Batches []inputs `json:"ahead"`   // batches of the steps that would have come next
	} `json:"ahead"`
}

// noted is the tensors of one call, or of one batch of a loader.
type noted struct {
	Time   int64  `json:"time"` // microseconds since the epoch
	Grad   bool   `json:"grad"` // gradients were on
	Inputs inputs `json:"inputs"`
}

// inputs are tensors by name.
type inputs map[string]struct {
	Shape []int64 `json:"shape"`
	Sum   int64   `json:"sum"`  // sum of the lengths that the tensor shows
	Most  int64   `json:"most"` // the longest of these lengths
	Each  []int64 `json:"each"` // the lengths themselves
}

// groupOf is the number of samples in a group of notes.Ahead.
const groupOf = 4

// readNotes returns the notes of a recording, or nil if it has none that can be used.
func readNotes(text string) *notes {
	var n notes
	if text == "" || json.Unmarshal([]byte(text), &n) != nil || len(n.Ends) < 2 || !slices.IsSorted(n.Ends) {
		return nil
	}
	return &n
}

// columns returns the numbers that a batch shows, by name: dimensions, and for tensors of whole numbers the sum and
// the maximum of the lengths in them.
func (in inputs) columns() map[string]int64 {
	out := map[string]int64{}
	for name, t := range in {
		for axis, n := range t.Shape {
			out[fmt.Sprintf("%s.%d", name, axis)] = n
		}
		if t.Sum > 0 {
			out[name+".sum"], out[name+".most"] = t.Sum, t.Most
		}
	}
	return out
}

// steps returns the columns of the calls of each step; those of later calls have the call's number in their names. It
// returns nil if the steps differ in how often the model is called.
func (n *notes) steps() []map[string]int64 {
	out := make([]map[string]int64, len(n.Ends))
	count := make([]int, len(n.Ends))
	for _, c := range n.Calls {
		s, _ := slices.BinarySearch(n.Ends, c.Time)
		if s == len(n.Ends) || !c.Grad {
			continue
		}
		if out[s] == nil {
			out[s] = map[string]int64{}
		}
		for name, v := range c.Inputs.columns() {
			out[s][fmt.Sprintf("call%d.%s", count[s], name)] = v
		}
		count[s]++
	}
	for _, c := range count {
		if c == 0 || c != count[0] {
			return nil
		}
	}
	n.addBatches(out)
	return out
}

// addBatches adds the columns of the loader's batches, which may hold what the model's first call does not see. If a
// step takes several batches, it is not known which.
func (n *notes) addBatches(steps []map[string]int64) {
	if len(n.Batches) < len(steps) || len(n.Batches) >= 2*len(steps) {
		return
	}
	for s := range steps {
		for name, v := range n.Batches[s].Inputs.columns() {
			steps[s][fromData+name] = v
		}
	}
}

// fromData is the prefix of the names of columns that the loader gives.
const fromData = "data."
