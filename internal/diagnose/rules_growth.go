// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"

	"snug/internal/pattern"
	"snug/internal/units"
)

// The rules about memory that grows from step to step.

// leastGrowth is the fraction of the memory that must have grown before growth is the cause.
const leastGrowth = 0.15

// growing returns the memory that each step left alive, and its bytes.
func (r *Recorded) growing() (out []Held, bytes uint64) {
	for _, h := range r.Held {
		if h.growing() && h.Where != (Frame{}) && h.What != Optimizer && h.What != Parameters && h.What != Temporaries {
			out = append(out, h)
			bytes += h.Bytes
		}
	}
	return out, bytes
}

// leaks reports whether the growing memory is a large fraction of all memory.
func (c *failure) leaks() bool {
	if c.Recorded == nil {
		return false
	}
	_, bytes := c.Recorded.growing()
	return float64(bytes) >= leastGrowth*float64(max(1, c.Recorded.Allocated))
}

// growth returns how much memory each step leaves alive, and where it was allocated.
func (c *failure) growth() *Growth {
	if !c.leaks() {
		return nil
	}
	all, _ := c.Recorded.growing()
	bytes, steps := uint64(0), c.Recorded.Steps
	for _, h := range all {
		bytes += h.grown
	}
	if visits := all[0].visits; all[0].Where.evaluates() || steps <= 2*visits { // Lightning reaches its optimizer twice a step
		steps = visits
	}
	return &Growth{BytesPerStep: bytes / uint64(steps), Where: c.keeper(all[0].Where).Where()}
}

// keeper returns the line that keeps another line's allocations alive, if the source shows it; otherwise the
// allocating line.
func (c *failure) keeper(made Frame) Frame {
	if c.Keeper != nil {
		if line, ok := c.Keeper(made.File, made.Line); ok {
			made.Line = line
		}
	}
	return made
}

// grows is the rule for growth that a snapshot shows.
func (c *failure) grows() (v Verdict, ok bool) {
	if !c.leaks() {
		return v, false
	}
	all, bytes := c.Recorded.growing()
	at := all[0]
	made, kept := at.Where.Where(), c.keeper(at.Where).Where()
	by := "allocated by " + made
	if kept != made {
		by += " and kept by " + kept
	}
	v = Verdict{Code: Leak, Confidence: Certain, Where: kept,
		Why: fmt.Sprintf("%v %s is still alive: each of the last %d passes left something behind", units.Bytes(bytes), by, at.visits)}
	if at.Where.evaluates() {
		v.Code = Evaluation
		v.Why = fmt.Sprintf("evaluation keeps what each batch creates: %v %s is alive after %d batches", units.Bytes(bytes), by, at.visits)
	}
	return v, true
}

// longer is the minimum ratio of the last batch to the largest earlier one at which the last batch is the cause.
const longer = 1.3

// lengthens recognizes a batch that is longer than all earlier ones.
func (c *failure) lengthens() (v Verdict, ok bool) {
	if r := c.Recorded; r != nil && r.Longest >= longer && (r.Steps > 1 || len(c.steps) > 1) {
		return Verdict{Code: LongBatch, Confidence: Certain, Why: fmt.Sprintf("the batch that failed is larger than all %d before it: its largest tensor is %.1f times theirs", max(r.Steps, len(c.steps)), r.Longest)}, true
	}
	if len(c.steps) < leastVisits {
		return v, false
	}
	low, high := c.lengths()
	if _, grew := c.memoryGrew(); high > 0 && float64(high) >= 1.2*float64(low) && !grew {
		return Verdict{Code: LongBatch, Confidence: Likely, Why: fmt.Sprintf("batches differ in length (%d to %d so far), and one needed more: %s", low, high, c.request())}, true
	}
	return v, false
}

// lengths returns the shortest and the longest batch in the log.
func (c *failure) lengths() (low, high int) {
	for _, s := range c.steps {
		if len(s.Shape) == 0 {
			continue
		}
		n := slices.Max(s.Shape)
		if low == 0 || n < low {
			low = n
		}
		high = max(high, n)
	}
	return low, high
}

// memoryGrew reports whether the memory figures in the log rise from its first third to its last. If there are only
// a few, each must be larger than the one before, and all must be from after the first steps; even then a leak is
// only likely.
func (c *failure) memoryGrew() (Confidence, bool) {
	var seen []uint64
	late, rising := true, true
	for _, s := range c.steps {
		if s.Memory == 0 {
			continue
		}
		late = late && s.Step >= leastSteps
		rising = rising && (len(seen) == 0 || s.Memory > seen[len(seen)-1]+seen[0]/10)
		seen = append(seen, s.Memory)
	}
	if len(seen) < leastVisits {
		return Likely, late && rising && len(seen) >= leastRising
	}
	third := max(1, len(seen)/3)
	return Certain, float64(slices.Min(seen[len(seen)-third:])) > 1.1*float64(slices.Max(seen[:third]))
}

// leastRising is the number of memory figures that show growth if each is larger than the one before.
const leastRising = 3

// ordinary is the fraction of the available memory below which a request is too small to be the cause by itself.
const ordinary = 0.03

// keepsCode matches source lines that keep or copy what they create.
var keepsCode = pattern.New(`\.(?:append|extend|insert|setdefault)\(|deepcopy\(|\.clone\(\)|\.state_dict\(\)`)

// joinsCode matches source lines that copy all tensors of a list into one.
var joinsCode = pattern.New(`\btorch\.(?:stack|cat|concat|concatenate|vstack|hstack)\(\s*([A-Za-z_][\w.]*)\s*[,)]`, "torch.")

// joined returns the name of the list that the failed line copies into one tensor; "" if it copies none.
func (c *failure) joined() string {
	at, ok := innermost(c.frames, Frame.users)
	if !ok {
		return ""
	}
	m := joinsCode.Find(at.Code)
	if m == nil {
		return ""
	}
	return m[1]
}

// joining describes the failed line, if it copies a list.
func (c *failure) joining() string {
	list := c.joined()
	if list == "" {
		return ""
	}
	return fmt.Sprintf("; the line that failed makes a second copy of everything in %s%s", list, c.sized())
}

// sized returns the size of the failed request in parentheses; "" if the message does not give it.
func (c *failure) sized() string {
	if c.tried == 0 {
		return ""
	}
	return fmt.Sprintf(" (%v)", units.Bytes(c.tried))
}

// grewInLog is the rule for growth that only the log shows: many steps succeeded, and then an ordinary request
// failed.
func (c *failure) grewInLog() (v Verdict, ok bool) {
	at, users := innermost(c.frames, Frame.users)
	keeps := users && keepsCode.In(at.Code)
	grew, ok := c.memoryGrew()
	switch {
	case ok:
		return Verdict{Code: Leak, Confidence: grew, Why: "the log shows memory use rising from step to step: each step leaves something behind" + c.joining()}, true
	case c.finished() < leastSteps || c.Recorded != nil:
		return v, false
	case keeps:
		return Verdict{Code: Leak, Confidence: Likely, Where: at.Where(), Why: fmt.Sprintf("%d steps succeeded, and the request failed in a line that keeps what it creates: %s", c.finished(), at.Code)}, true
	case c.joined() != "" && !some(c.frames, Frame.calls):
		return Verdict{Code: Leak, Confidence: Possible, Where: at.Where(), Why: fmt.Sprintf("%d steps succeeded, and then joining what %s has collected failed: the list keeps its tensors on the card, and %s makes a second copy of them%s", c.finished(), c.joined(), at.Code, c.sized())}, true
	case c.tried == 0:
		return Verdict{Code: Leak, Confidence: Possible, Why: fmt.Sprintf("%d steps succeeded, and then a request failed, whose size the message does not give: something is kept from step to step (or the batches differ in length)", c.finished())}, true
	case c.share(c.tried) < ordinary:
		return Verdict{Code: Leak, Confidence: Possible, Why: fmt.Sprintf("%d steps succeeded, and then a request of only %v failed: something is kept from step to step (or the batches differ in length)", c.finished(), units.Bytes(c.tried))}, true
	}
	return Verdict{Code: LongBatch, Confidence: Possible, Why: fmt.Sprintf("%d steps succeeded, and then %v could not be allocated: one batch needs more than those before it, or something is kept from step to step", c.finished(), units.Bytes(c.tried)) + c.joining()}, true
}

// leastSteps is the number of successful steps after which the run's size alone does not explain a failure, because
// the allocator and the optimizer have already allocated what they need.
const leastSteps = 5

// finished returns the minimum number of training steps that the log shows.
func (c *failure) finished() int {
	n, highest := 0, 0
	for _, s := range c.steps {
		if !s.Evaluates {
			n++
			highest = max(highest, min(s.Step, 1<<30))
		}
	}
	if n == 0 {
		return 0
	}
	return max(n, highest)
}
