// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"

	"snug/internal/units"
)

// The rules based on what the program was doing, judging by its stack.

// leastPart is the fraction of the memory that a cause must account for.
const leastPart = 0.15

// of returns how many bytes of the given kinds the snapshot contains.
func (c *failure) of(kinds ...string) (bytes uint64) {
	if c.Recorded == nil {
		return 0
	}
	for _, h := range c.Recorded.Held {
		for _, k := range kinds {
			if h.What == k {
				bytes += h.Bytes
			}
		}
	}
	return bytes
}

func (c *failure) restoring() (v Verdict, ok bool) {
	at, _ := innermost(c.frames, Frame.restores)
	switch {
	case at != (Frame{}) && !some(c.frames, Frame.loadsModel):
		v.Why, v.Confidence = "memory ran out while a checkpoint was being read: its tensors are on the card together with the model's and the optimizer's", Certain
		if !c.resumed() && !some(c.frames, func(f Frame) bool { return f.Func == "load_state_dict" }) {
			v.Confidence = Likely
		}
	case c.part(c.of(Checkpoint)) >= leastPart:
		v.Why, v.Confidence = fmt.Sprintf("%v read from a checkpoint is still on the card, next to the model and the optimizer", units.Bytes(c.of(Checkpoint))), Certain
	case c.resumed() && c.finished() < leastSteps:
		v.Why, v.Confidence = "the run had just resumed: a checkpoint that stays on the card takes as much again as the model and the optimizer", Likely
	default:
		return v, false
	}
	v.Code = Resume
	return v, true
}

// part returns bytes as a fraction of what was allocated at the end of a recording.
func (c *failure) part(bytes uint64) float64 {
	if c.Recorded == nil {
		return 0
	}
	return float64(bytes) / float64(max(1, c.Recorded.Allocated))
}

func (f Frame) loadsModel() bool {
	return f.Func == "from_pretrained" || f.Func == "load_checkpoint_and_dispatch" || f.Func == "load_model"
}

// resumed reports whether the log shows a checkpoint being loaded before the failure.
func (c *failure) resumed() bool {
	return c.Log != nil && c.Log.Resumed > 0 && c.Log.Resumed < c.message.Line
}

func (c *failure) loading() (v Verdict, ok bool) {
	at, found := innermost(c.frames, Frame.builds)
	if !found || some(c.frames, Frame.calls) || updates(c.frames) || c.finished() > 0 || at == (Frame{}) {
		return v, false
	}
	return Verdict{Code: Loading, Confidence: Certain, Why: "memory ran out while the model was being moved to the card, before the first step: " + c.request()}, true
}

func (c *failure) firstStep() (v Verdict, ok bool) {
	if !updates(c.frames) {
		return v, false
	}
	makes := some(c.frames, func(f Frame) bool {
		return f.Func == "_init_group" || f.Func == "_init_state" || f.Func == "init_state"
	})
	if !makes && (c.finished() >= leastSteps || c.Recorded != nil && c.Recorded.Steps > 1) {
		return v, false
	}
	return Verdict{Code: FirstOptimizerStep, Confidence: Certain,
		Why: "forward and backward succeeded; memory ran out in the first update, when the optimizer allocates its state and its temporaries: " + c.request()}, true
}

func (c *failure) evaluating() (v Verdict, ok bool) {
	at, found := innermost(c.frames, Frame.evaluates)
	if n := len(c.steps); !found && n > 0 && c.steps[n-1].Evaluates && c.steps[n-1].Ongoing && !some(c.frames, Frame.backward) && !updates(c.frames) {
		return Verdict{Code: Evaluation, Confidence: Likely, Why: "according to the log, memory ran out during an evaluation: " + c.request()}, true
	}
	if !found {
		return v, false
	}
	name := at.Func
	if !evaluates.In(name) {
		name = at.Where()
	}
	why := "memory ran out during evaluation (" + name + "), not in training"
	if c.Recorded != nil && c.share(c.of(Activations, Logits)) > 0.4 {
		why += "; its batches are larger than in training, or it runs with gradients"
	}
	return Verdict{Code: Evaluation, Confidence: Certain, Why: why + ": " + c.request()}, true
}

// largeRequest is the fraction of the available memory above which a single request shows what is too large.
const largeRequest = 0.05

func (c *failure) inLogits() (v Verdict, ok bool) {
	if !some(c.frames, Frame.loses) || c.share(c.tried) < largeRequest && c.share(c.of(Logits)) < 0.3 {
		return v, false
	}
	return Verdict{Code: LogitsTooBig, Confidence: Likely, Why: "the logits (batch × length × vocabulary) and the tensors that the loss computes from them are too large: " + c.request()}, true
}
