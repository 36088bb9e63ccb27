// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"math"
	"strings"
)

// Peak is the peak memory of a run's part, in bytes.
type Peak struct {
	Allocated float64 `json:"allocated"` // bytes in tensors
	Reserved  float64 `json:"reserved"`  // bytes that PyTorch reserved
}

// Expected is the prediction for each process of a run. It comes from outside the package.
type Expected struct {
	Load      Peak    // peak while the model is loaded; zero if unknown
	Steps     []Peak  // peaks of the first steps; later steps resemble those after the first
	Eval      Peak    // peak of an evaluation; zero if none was predicted
	AfterEval Peak    // peak of steps after an evaluation; zero if they do not differ
	Even      bool    // all batches have the same size; otherwise steps may take less
	Batch     int     // samples per forward pass; 0 if unknown
	Length    int     // tokens per sample; 0 if unknown or varying
	Low, High float64 // bounds of measured/predicted for similar predictions
	Source    string  // title of the predicted model

	// At predicts a step with a different batch. It may be nil.
	At func(shape []int) (Peak, bool)
}

// Expect sets the prediction that steps are compared with. It must be called before the first step.
func (w *Watcher) Expect(x *Expected) { w.expected = x }

// Cause is the reason why a step differs from the prediction.
type Cause string

// The causes, as --json writes them.
const (
	LargerBatch   Cause = "larger-batch"  // the batch is larger than the predicted one
	Growth        Cause = "growth"        // memory that stays between steps has grown
	NewEvaluation Cause = "evaluation"    // an evaluation takes more than the steps, and none was predicted
	Fragments     Cause = "fragmentation" // tensors take as much as predicted, but PyTorch reserves more
	More          Cause = "more"          // tensors take more
	Less          Cause = "less"          // steps take less, and their batches are as large as predicted
)

// Deviation is the first step that differs from the prediction.
type Deviation struct {
	Step      int     `json:"step"`            // the training step, or for an evaluation the training step before it
	PID       int     `json:"pid,omitempty"`   // the process, if there are several
	Phase     Phase   `json:"phase"`           // the step's phase
	What      string  `json:"what"`            // allocated or reserved
	Cause     Cause   `json:"cause"`           // what differs
	Predicted float64 `json:"predicted"`       // bytes
	Measured  float64 `json:"measured"`        // bytes
	Shape     []int   `json:"shape,omitempty"` // shape of the batch
	Why       string  `json:"why"`             // the explanation, in one sentence
}

// Predicted is the part of a reading about the prediction.
type Predicted struct {
	Load      *Peak      `json:"load,omitempty"`       // predicted peak while the model is loaded
	Step      Peak       `json:"step"`                 // predicted peak of the newest step
	Eval      *Peak      `json:"evaluation,omitempty"` // predicted peak of an evaluation
	Measured  Peak       `json:"measured"`             // measured peak of the newest step
	Deviation *Deviation `json:"deviation,omitempty"`  // the first step that differs
}

// The smallest differences that count, regardless of the interval.
const (
	leastPart     = 0.01    // fraction of the predicted peak
	leastBytes    = 8 << 20 // small models use segments of 2 and 20 MiB
	fewerInARow   = 3       // consecutive steps that must take less: one may be the last batch of an epoch
	growthExplain = 0.5     // minimum fraction of the excess that growth must explain
)

// step returns the prediction for a step of a process; ok is false if there is none.
func (x *Expected) step(p *process, s Step) (want Peak, ok bool) {
	if s.Phase == Eval {
		return x.Eval, x.Eval.Allocated > 0
	}
	if len(x.Steps) == 0 {
		return Peak{}, false
	}
	for _, y := range x.like(s.N) {
		want = highestOf(want, y)
	}
	if p.trained <= 1 { // the first step's peaks include the time since the process began
		want = highestOf(want, x.Load)
	}
	if p.evaluated && x.AfterEval.Allocated > 0 {
		want = highestOf(want, x.AfterEval)
	}
	return want, true
}

// like returns the predicted steps that a step may resemble. The first step allocates the optimizer states; if lengths
// vary, any step may resemble any other.
func (x *Expected) like(step int) []Peak {
	switch {
	case len(x.Steps) < 2 || !x.Even:
		return x.Steps
	case step <= 1:
		return x.Steps[:1]
	}
	return x.Steps[1:]
}

// least returns the smallest predicted allocation for a step like this one.
func (x *Expected) least(step int) float64 {
	least := math.Inf(1)
	for _, y := range x.like(step) {
		least = min(least, y.Allocated)
	}
	return least
}

func highestOf(a, b Peak) Peak {
	return Peak{max(a.Allocated, b.Allocated), max(a.Reserved, b.Reserved)}
}

// above and below report whether a measured value is outside the range that the prediction allows.
func (x *Expected) above(measured, predicted float64) bool {
	return measured > predicted*max(x.High, 1+leastPart) && measured-predicted > leastBytes
}

func (x *Expected) below(measured, predicted float64) bool {
	return measured < predicted*min(x.Low, 1-leastPart) && predicted-measured > leastBytes
}

// larger reports whether a batch is larger than the predicted one, and smaller whether it is smaller.
func (x *Expected) larger(shape []int) bool {
	return len(shape) > 0 && x.Batch > 0 && shape[0] > x.Batch || len(shape) > 1 && x.Length > 0 && shape[1] > x.Length
}

func (x *Expected) smaller(shape []int) bool {
	return len(shape) > 0 && x.Batch > 0 && shape[0] < x.Batch || len(shape) > 1 && x.Length > 0 && shape[1] < x.Length
}

// compare checks whether a step differs from the prediction. Only the first such step is kept.
func (p *process) compare(x *Expected, s Step) {
	if x == nil || p.deviation != nil {
		return
	}
	want, ok := x.step(p, s)
	allocated, reserved := float64(max(s.PeakAllocated, s.Allocated)), float64(max(s.PeakReserved, s.Reserved))
	if s.Phase == Eval {
		p.evalReserved = max(p.evalReserved, reserved)
		if !ok {
			want = Peak{max(p.most.Allocated, x.Highest().Allocated), max(p.most.Reserved, x.Highest().Reserved)}
		}
	}
	switch {
	case x.above(allocated, want.Allocated):
		p.setDeviation(x, s, "allocated", want.Allocated, allocated)
	case x.above(reserved, want.Reserved) && (s.Phase == Eval || reserved > p.evalReserved):
		p.setDeviation(x, s, "reserved", want.Reserved, reserved)
	case s.Phase == Train && x.Even && x.below(allocated, x.least(s.N)) && !x.smaller(s.Shape):
		if p.fewer++; p.fewer >= fewerInARow {
			p.setDeviation(x, s, "allocated", want.Allocated, allocated)
		}
	case s.Phase == Train:
		p.fewer = 0
	}
	if s.Phase == Train {
		p.most = highestOf(p.most, Peak{allocated, reserved})
	}
}

// Highest returns the highest predicted peak of a training step.
func (x *Expected) Highest() Peak {
	most := x.AfterEval
	for _, y := range x.Steps {
		most = highestOf(most, y)
	}
	return most
}

// setDeviation stores the first step that differs, with the cause.
func (p *process) setDeviation(x *Expected, s Step, what string, predicted, measured float64) {
	at := &Deviation{Step: s.N, Phase: s.Phase, What: what, Predicted: predicted, Measured: measured, Shape: s.Shape, Cause: More}
	grown := float64(s.Allocated) - p.heldFirst
	switch {
	case measured < predicted:
		at.Cause = Less
	case s.Phase == Eval && x.Eval.Allocated == 0:
		at.Cause = NewEvaluation
	case x.larger(s.Shape):
		at.Cause = LargerBatch
	case p.heldFirst > 0 && p.trained > fewerInARow && grown > growthExplain*(measured-predicted):
		at.Cause = Growth
	case what == "reserved":
		at.Cause = Fragments
	}
	at.Why = at.sentence(x, grown, p.heldAt)
	p.deviation = at
}

// grew attributes a step that took too much to a leak that was detected later but had already begun.
func (a *Deviation) grew(leak trend) {
	if a != nil && a.Cause == More && a.Phase == Train && leak.from <= float64(a.Step) {
		a.Cause = Growth
		a.Why += fmt.Sprintf(": memory that stays between steps grows by %v per step", gib(leak.slope))
	}
}

// sentence states the measured and the predicted memory of a step, and the cause of the difference.
func (a *Deviation) sentence(x *Expected, grown float64, since int) string {
	who := fmt.Sprintf("step %d", a.Step)
	if a.Phase == Eval {
		who = fmt.Sprintf("the evaluation after step %d", a.Step)
	}
	off := a.Measured - a.Predicted
	text := fmt.Sprintf("%s %s %v instead of the predicted %v (%s%v, %+.1f %%)", who, a.What, gib(a.Measured), gib(a.Predicted), sign(off), gib(max(off, -off)), 100*off/max(a.Predicted, 1))
	switch a.Cause {
	case LargerBatch:
		text += fmt.Sprintf(": its batch of shape %s is larger than the predicted %s", times(a.Shape), x.shape())
		if x.At == nil {
			break
		}
		if y, ok := x.At(a.Shape); ok {
			want := y.Allocated
			if a.What == "reserved" {
				want = y.Reserved
			}
			text += fmt.Sprintf(", for which %v is predicted", gib(want))
		}
	case Growth:
		text += fmt.Sprintf(": memory that stays between steps has grown by %v since step %d", gib(grown), since)
	case NewEvaluation:
		text += ": no evaluation was predicted"
	case Fragments:
		text += ": tensors take as much as predicted, but PyTorch's cache reuses less of its memory"
	case Less:
		text += ": the run is smaller than described"
	}
	return text
}

func sign(off float64) string {
	if off < 0 {
		return "-"
	}
	return "+"
}

// shape returns the predicted shape in words.
func (x *Expected) shape() string {
	if x.Length > 0 {
		return times([]int{x.Batch, x.Length})
	}
	return fmt.Sprintf("batch of %d", x.Batch)
}

func times(shape []int) string {
	var out []string
	for _, n := range shape {
		out = append(out, fmt.Sprint(n))
	}
	return strings.Join(out, " x ")
}

// predicted returns the prediction for a process's reading, or nil.
func (w *Watcher) predicted(p *process) *Predicted {
	x := w.expected
	if x == nil || !p.seenStep {
		return nil
	}
	out := &Predicted{Step: p.want, Measured: Peak{float64(p.last.PeakAllocated), float64(p.last.PeakReserved)}, Deviation: p.deviation}
	if x.Load.Allocated > 0 {
		out.Load = &x.Load
	}
	if x.Eval.Allocated > 0 {
		out.Eval = &x.Eval
	}
	return out
}

// Deviation returns the first step of the run that differs from the prediction, or nil.
func (w *Watcher) Deviation() *Deviation {
	var first *Deviation
	subjects := w.subjects()
	for _, p := range subjects {
		if a := p.deviation; a != nil && (first == nil || a.Step < first.Step) {
			one := *a
			if len(subjects) > 1 {
				one.PID = p.pid
			}
			first = &one
		}
	}
	return first
}

// Measured returns the highest peak of the run's processes, with that process's number of steps and time per step. If the
// run is not comparable with the prediction, why is the reason.
func (w *Watcher) Measured() (most Peak, steps int, seconds float64, why string) {
	for _, p := range w.subjects() {
		switch {
		case p.failed:
			why = "it ran out of memory"
		case p.leaked:
			why = "its memory grew"
		case p.deviation != nil && p.deviation.Cause != More && p.deviation.Cause != Fragments:
			why = p.deviation.Why
		}
		if p.mostEver.Reserved > most.Reserved {
			most, steps, seconds = p.mostEver, p.trained, p.stepSeconds()
		}
	}
	return most, steps, seconds, why
}
