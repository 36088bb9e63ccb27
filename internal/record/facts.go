// SPDX-License-Identifier: Apache-2.0

package record

import (
	"maps"
	"slices"

	"snug/internal/profile"
	"snug/internal/run"
)

// facts returns what the probe reported besides the streams: the facts of the last run, which is one of the larger
// ones, and the times of all runs.
func facts(trials []*Trial) profile.Facts {
	last := trials[len(trials)-1]
	x := last.Report
	f := profile.Facts{World: max(x.World, 1), Stacks: last.Stacks, Precision: precisionOf(x)}
	if s := x.State; s != nil {
		f.Params, f.Trainable = s.Params, min(s.Trainable, s.Params)
		f.Parameters, f.Gradients, f.States = s.Parameters+s.Buffers, s.Gradients, s.Optimizer
		if f.Gradients == 0 && s.Params > 0 { // the gradients were dropped before the report
			f.Gradients = uint64(float64(s.Parameters) * float64(s.Trainable) / float64(s.Params))
		}
	}
	if len(x.Batches) > 0 {
		b := x.Batches[0]
		f.Model = b.Module
		if b.Checkpointing || x.Versions["transformers"] != "" { // other modules do not report checkpointing
			f.Checkpointing = &b.Checkpointing
		}
	}
	end := x.Steps[len(x.Steps)-1]
	f.Optimizer, f.Accumulation = end.Optimizer, end.Backwards
	for _, t := range trials {
		if s := t.Report.StepSeconds(); s > 0 {
			f.Timings = append(f.Timings, profile.Timing{At: t.At, Seconds: s})
		}
	}
	return f
}

// autocastInside lists libraries that turn autocast on inside the model, where the probe does not see it.
var autocastInside = []string{"accelerate", "deepspeed", "lightning", "pytorch_lightning"}

// precisionOf returns the precision in a setup's spelling, or "" if it is unknown.
func precisionOf(x *run.Report) string {
	if x.State == nil || len(x.Batches) == 0 {
		return ""
	}
	weights := mostCommon(x.State.Dtypes)
	short := map[string]string{"bfloat16": "bf16", "float16": "fp16"}
	switch cast := x.Batches[0].Autocast; {
	case short[weights] != "" && short[cast] != "":
		return "amp-" + short[cast]
	case short[weights] != "":
		return short[weights]
	case weights != "float32":
		return ""
	case short[cast] != "":
		return "amp-" + short[cast]
	case cast != "" || slices.ContainsFunc(autocastInside, func(library string) bool { return x.Versions[library] != "" }):
		return ""
	}
	return "fp32"
}

// mostCommon returns the dtype of most parameters.
func mostCommon(dtypes map[string]int) string {
	name, most := "", 0
	for _, d := range slices.Sorted(maps.Keys(dtypes)) {
		if n := dtypes[d]; n > most {
			name, most = d, n
		}
	}
	return name
}
