// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/json"
	"fmt"
	"slices"
)

// notes is what the probe saw besides memory: the model's inputs in each step, the batches from the data loader, and
// the data beyond the recorded steps.
type notes struct {
	Ends    []int64 `json:"ends"` // end of each optimizer step, in microseconds since the epoch
	Calls   []noted `json:"calls"`
	Batches []noted `json:"batches"`
	Loader  struct {
		Sampler string `json:"sampler"` // the class that chooses the samples of a batch
		Samples int64  `json:"samples"` // the number of samples in the dataset
	} `json:"loader"`
	Ahead struct {
		Samples []inputs `json:"samples"` // batches of one sample
		Groups  []inputs `json:"groups"`  // batches of samples 0 to 3, 4 to 7, …
		Order   []inputs `json:"order"`   // batches of one sample, in the order of the run, from its first step
		Batches []inputs `json:"ahead"`   // batches of the steps that would have come next
	} `json:"ahead"`
}

// noted describes the tensors in one model call, or in one batch from a loader.
type noted struct {
	Time   int64  `json:"time"` // microseconds since the epoch
	Grad   bool   `json:"grad"` // gradients were on
	Inputs inputs `json:"inputs"`
}

// inputs are tensors by name.
type inputs map[string]struct {
	Shape []int64 `json:"shape"`
	Sum   int64   `json:"sum"`  // sum of the lengths in the tensor
	Most  int64   `json:"most"` // the largest length
	Each  []int64 `json:"each"` // the lengths themselves
}

// groupOf is the number of samples per group in notes.Ahead.
const groupOf = 4

// readNotes returns the notes of a recording, or nil if it has no usable ones.
func readNotes(text string) *notes {
	var n notes
	if text == "" || json.Unmarshal([]byte(text), &n) != nil || len(n.Ends) < 2 || !slices.IsSorted(n.Ends) {
		return nil
	}
	return &n
}

// columns returns the numbers in a batch, by name: dimensions, and for integer tensors the sum and the maximum of the
// lengths they contain.
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

// steps returns the columns of each step's calls; names from later calls include the call's number. It returns nil if
// the number of model calls differs between steps.
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

// addBatches adds the columns of the loader's batches, which may contain more than the model's first call sees. If a
// step uses several batches, nothing is added, because it is not known which belong to it.
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

// fromData is the name prefix of the loader's columns.
const fromData = "data."
