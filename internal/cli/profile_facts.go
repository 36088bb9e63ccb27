// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"

	"snug/internal/profile"
	"snug/internal/run"
)

// facts is what the probe told of the runs beside their streams. What differs
// between them is nothing that holds for other sizes.
func (p *profiling) facts() profile.Facts {
	last := p.runs[len(p.runs)-1]
	x := last.rank
	f := profile.Facts{World: max(x.World, 1), Stacks: p.options.stacks, Precision: precisionOf(x)}
	if s := x.State; s != nil {
		f.Params, f.Trainable = s.Params, min(s.Trainable, s.Params)
		f.Parameters, f.Gradients, f.States = s.Parameters+s.Buffers, s.Gradients, s.Optimizer
		if f.Gradients == 0 && s.Params > 0 { // they were dropped by then
			f.Gradients = uint64(float64(s.Parameters) * float64(s.Trainable) / float64(s.Params))
		}
	}
	if len(x.Batches) > 0 {
		b := x.Batches[0]
		f.Model = b.Module
		if b.Checkpointing || x.Versions["transformers"] != "" { // other modules do not say
			f.Checkpointing = &b.Checkpointing
		}
	}
	end := x.Steps[len(x.Steps)-1]
	f.Optimizer, f.Accumulation = end.Optimizer, end.Backwards
	for _, r := range p.runs {
		if s := r.rank.StepSeconds(); s > 0 {
			f.Timings = append(f.Timings, profile.Timing{At: r.at, Seconds: s})
		}
	}
	return f
}

// wrappers compute under autocast without the probe seeing it: they turn it on
// inside of the model that is called.
var wrappers = []string{"accelerate", "deepspeed", "lightning", "pytorch_lightning"}

// precisionOf is the precision as setups write it, "" where it cannot be told.
func precisionOf(x *run.Report) string {
	if x.State == nil || len(x.Batches) == 0 {
		return ""
	}
	weights, most := "", 0
	for name, n := range x.State.Dtypes {
		if n > most {
			weights, most = name, n
		}
	}
	short := map[string]string{"bfloat16": "bf16", "float16": "fp16"}
	switch cast := x.Batches[0].Autocast; {
	case short[weights] != "":
		return short[weights]
	case weights != "float32":
		return ""
	case short[cast] != "":
		return "amp-" + short[cast]
	case cast != "" || slices.ContainsFunc(wrappers, func(w string) bool { return x.Versions[w] != "" }):
		return ""
	}
	return "fp32"
}

// steady is the tokens per sample where they were not varied and every run's
// batch shows the same: the second side of its token numbers.
func (p *profiling) steady() (seq int64, ok bool) {
	for i, r := range p.runs {
		n := tokensIn(r.rank)
		if _, varied := r.at["seq"]; varied || n == 0 || i > 0 && n != seq {
			return 0, false
		}
		seq = n
	}
	return seq, true
}

func tokensIn(x *run.Report) int64 {
	if len(x.Batches) == 0 {
		return 0
	}
	for _, in := range x.Batches[0].Inputs {
		if in.Name == "input_ids" && len(in.Shape) == 2 {
			return int64(in.Shape[1])
		}
	}
	return 0
}
