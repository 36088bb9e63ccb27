// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"snug/internal/units"
)

// Change is how much one holder grew or shrank between two snapshots.
type Change struct {
	What          string // the kind of memory: parameters, activations, …
	Where         Frame  // zero if no stack was recorded
	Before, After uint64 // bytes in the first and in the second snapshot
	Count         int    // change in the number of tensors
}

// Grown returns the bytes that were added; negative if memory shrank.
func (c *Change) Grown() int64 { return int64(c.After) - int64(c.Before) }

// Place returns where the memory was allocated, "" if unknown.
func (c *Change) Place() string { return Held{Where: c.Where}.Place() }

// Compare returns the changes from one snapshot to another, largest growth first. It compares their final states.
func Compare(before, after *Recorded) (out []Change) {
	type holder struct {
		what  string
		where Frame
	}
	all := map[holder]*Change{}
	at := func(h Held) *Change {
		k := holder{h.What, h.Where}
		if all[k] == nil {
			all[k] = &Change{What: h.What, Where: h.Where}
		}
		return all[k]
	}
	for _, h := range before.atEnd() {
		c := at(h)
		c.Before += h.Bytes
		c.Count -= h.Count
	}
	for _, h := range after.atEnd() {
		c := at(h)
		c.After += h.Bytes
		c.Count += h.Count
	}
	for _, c := range all {
		if c.Before != c.After {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Grown(), a.Grown()), cmp.Compare(a.What, b.What), cmp.Compare(a.Where.Where(), b.Where.Where()))
	})
	return out
}

// atEnd returns the holders of memory at the end of the recording.
func (r *Recorded) atEnd() []Held {
	if !r.AtPeak {
		return r.Held
	}
	return r.walked.held(r.device)
}

// between is the rule for two snapshots: if persistent memory grew by a large fraction of all memory, something is
// kept from step to step.
func (c *failure) between() (v Verdict, ok bool) {
	if c.Earlier == nil || c.Recorded == nil {
		return v, false
	}
	grown := c.Recorded.Allocated - min(c.Recorded.Allocated, c.Earlier.Allocated)
	if float64(grown) < leastGrowth*float64(c.Recorded.Allocated) {
		return v, false
	}
	for _, change := range Compare(c.Earlier, c.Recorded) {
		if !change.kept() || float64(change.Grown()) < float64(grown)/4 {
			continue
		}
		at := c.keeper(change.Where).Where()
		return Verdict{Code: Leak, Confidence: Likely, Where: at, Why: fmt.Sprintf("from the first snapshot to the second, memory grew by %v; most of that, %v in %d tensors, was allocated at %s and is kept",
			units.Bytes(grown), units.Bytes(change.Grown()), change.Count, change.Where.Where())}, true
	}
	return v, false
}

// kept reports whether a change is of a kind that should not grow after the first steps.
func (c *Change) kept() bool {
	switch c.What {
	case Parameters, Optimizer, Temporaries, Gradients, Workspace:
		return false
	}
	return c.Where != (Frame{}) && c.Count > 0
}
