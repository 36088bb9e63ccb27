// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/script"
	"snug/internal/setup"
	"snug/internal/shadow"
)

// count sets the parameter counts of the model: the setup's, or one that a script builds itself.
func (r *run) count(res *Result) {
	trained := r.own
	if r.builder != nil {
		res.Params, res.Trainable = r.builder.Count()
		trained = r.builder.Trainable()
		if r.wrapper != nil { // the wrapper may need gradients of frozen parameters too
			res.Trainable = numel(r.trained)
		}
		around := r.around()
		if r.wrapper != nil && r.calling != nil { // what the optimizer updates are parts of the model's own parameters
			around = nil
		}
		trained = append(trained[:len(trained):len(trained)], around...)
		res.Params += numel(around)
		res.Trainable += numel(around)
	} else {
		res.Params = numel(r.own)
		res.Trainable = res.Params
	}
	for _, p := range trained {
		res.Gradients += p.Bytes()
	}
}

// around returns the trained parameters that the script adds to a known model, such as those of its own head.
func (r *run) around() (out []*shadow.Tensor) {
	inside := map[*shadow.Tensor]bool{}
	for _, p := range r.builder.Parameters() {
		inside[p] = true
	}
	for _, p := range r.own {
		if !inside[p] {
			out = append(out, p)
		}
	}
	return out
}

// unchangeable returns an error for a setting that would change a model that only the script's code describes.
func unchangeable(s *setup.Setup) error {
	if !s.Script.StandsFor {
		return nil
	}
	for _, x := range []struct {
		field string
		is    bool
	}{{"checkpointing", s.Checkpointing}, {"attention", s.Attention != "sdpa"}, {"loss", s.Loss != "" || s.LossChunks > 1}, {"lora", s.LoRA != nil}, {"quantization", s.Quantization != nil}} {
		if x.is {
			return setup.Wrong("{"+x.field+"}: %s builds its own model, which snug simulates only as it is written; remove the setting", s.Script.Path())
		}
	}
	return nil
}

// numel returns the total number of elements of ps.
func numel(ps []*shadow.Tensor) (n int) {
	for _, p := range ps {
		n += p.Numel()
	}
	return n
}

// ownNotes returns notes that the script's own model is simulated instead of the setup's, and which parts of it
// are not.
func (r *run) ownNotes(res *script.Result) (out []string) {
	if r.builder != nil {
		return nil
	}
	if !r.s.Model.Code {
		note := r.s.Script.Path() + " builds its own model, which is simulated from its code"
		if !r.s.Script.StandsFor {
			note += fmt.Sprintf("; the setup's model %s is not used", r.s.Model.Title())
		}
		out = append(out, note)
	}
	if idle := r.ineffectiveOn(res); len(idle) > 0 {
		out = append(out, fmt.Sprintf("%s: no effect; the sizes come from the code of %s", strings.Join(idle, ", "), r.s.Script.Path()))
	}
	if without := r.ungraded(res); without > 0 {
		out = append(out, fmt.Sprintf("%s: %d of the %d parameters have no gradient at the first update; if the model uses them, the run needs more memory than shown", r.s.Script.Path(), without, len(res.Trained)))
	}
	return out
}

// ownModelTakes are the fields that have an effect on a script that builds its own model, or have notes of their own.
var ownModelTakes = []string{"model", "loop", "batch", "accumulation", "seq", "lengths", "seed", "tokenizer", "precision", "optimizer", "compile", "allocator", "limit", "versions", "dist"}

// ineffectiveOn returns the fields that the user gave although they have no effect on the script's own model.
func (r *run) ineffectiveOn(res *script.Result) (out []string) {
	for _, field := range r.s.Script.AskedFields() {
		idle := !slices.Contains(ownModelTakes, field)
		switch field {
		case "checkpointing":
			idle = !res.Switched
		case "seq":
			idle = !res.Sized
		case "clip": // differences notes a script that does not clip
			idle = !r.s.Clip && res.Clips
		case "precision": // and autocast
			idle = !res.Autocasts && autocastType(r.s.Precision) == shadow.None && typeOf(r.s.Precision).Half() != halves(res.Trained)
		}
		if idle {
			out = append(out, field)
		}
	}
	return out
}

// halves reports whether parameters are in a 16-bit type.
func halves(params []*shadow.Tensor) bool { return len(params) > 0 && params[0].DType().Half() }

// ungraded returns how many parameters of the script's own model have no gradient at the first update.
func (r *run) ungraded(res *script.Result) int {
	if r.builder != nil {
		return 0
	}
	return len(res.Trained) - res.Graded
}

// unfollowedShare is the share of a script's own model that may lack gradients if some of its code was not followed, and
// untrainedShare if all was: layers that only select, as with topk, never get any. If more of it lacks them, a part of the
// model was not followed, and the figures would be far too low.
const (
	unfollowedShare = 0.1
	untrainedShare  = 0.5
)

// unfollowedModel returns the error for a script's own model of which too much was not followed.
func (r *run) unfollowedModel(res *script.Result) error {
	if !r.s.Model.Code || res.Graded == len(res.Trained) {
		return nil
	}
	share := float64(res.Ungraded) / float64(numel(res.Trained))
	if share <= unfollowedShare || share <= untrainedShare && len(res.Notes) == 0 {
		return nil
	}
	return setup.Wrong("{loop} %s: %d of the %d parameters of its model get no gradient%s, because a part of it cannot be followed; record the run: snug profile -- python3 %s", r.s.Loop, len(res.Trained)-res.Graded, len(res.Trained), firstNote(res.Notes), r.s.Loop)
}

// metering is how far the watch has measured a step of a model that a script builds itself.
type metering int

const (
	unmetered     metering = iota // before the first update
	meterWaits                    // the next forward pass is measured
	meterForward                  // in a measured forward pass
	meterBackward                 // in a measured backward pass
	metered                       // the step has been measured
)

// meterPhase measures the step after the first update, with all its micro-batches: there is no other loop that could
// run the script's own model. Each backward pass ends a micro-batch. Evaluations in between do not count.
func (r *run) meterPhase(p script.Phase) {
	if r.meter == meterBackward {
		r.meter, r.timedMicro = meterForward, true
		r.timed()
	}
	switch {
	case r.meter == unmetered && p == script.Update:
		r.meter = meterWaits
	case r.meter == meterWaits && p == script.Forward, r.meter == meterForward && p == script.Forward:
		r.meter, r.w.Meter = meterForward, r.o.Watch
	case r.meter == meterForward && p == script.Evaluation:
		r.w.Meter = nil
	case r.meter == meterForward && p == script.Backward:
		r.meter, r.w.Meter = meterBackward, r.o.Watch
	case r.meter == meterForward && p == script.Update && r.timedMicro:
		r.meter, r.w.Meter = metered, nil
	}
}
