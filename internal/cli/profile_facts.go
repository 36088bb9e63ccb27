// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"slices"

	"snug/internal/config"
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
	for _, name := range slices.Sorted(maps.Keys(x.State.Dtypes)) {
		if n := x.State.Dtypes[name]; n > most {
			weights, most = name, n
		}
	}
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
	case cast != "" || slices.ContainsFunc(wrappers, func(w string) bool { return x.Versions[w] != "" }):
		return ""
	}
	return "fp32"
}

// steady is the sizes that were not varied, as far as they can be told: tokens
// per sample from the batches that the probe saw, and the rest from the config
// files that were there when it ran.
func (p *profiling) steady() profile.Point {
	out := profile.Point{}
	varied := p.runs[0].at
	for name, n := range p.configured() {
		if _, is := varied[name]; !is {
			out[name] = n
		}
	}
	seq := tokensIn(p.runs[0].rank)
	for _, r := range p.runs {
		if tokensIn(r.rank) != seq {
			seq = 0
		}
	}
	if _, is := varied["seq"]; !is && seq > 0 {
		out["seq"] = seq
	}
	return out
}

// steadySizes are the sizes that files and commands hold beside the batch.
var steadySizes = []string{"seq", "target_seq", "positives", "negatives"}

// configured is the sizes that the config files hold, where there are any, or
// that the command itself gives over them.
func (p *profiling) configured() profile.Point {
	out := profile.Point{}
	if project, err := p.project(p.launch.Args, "batch"); err == nil {
		fields := project.Fields()
		for _, name := range steadySizes {
			if n, ok := fields[name].(float64); ok && n >= 1 {
				out[name] = int64(n)
			}
		}
	}
	for _, b := range config.Spoken(p.launch.Args) {
		if n, ok := b.Value.(int); ok && n >= 1 && slices.Contains(steadySizes, b.Setting) {
			out[b.Setting] = int64(n)
		}
	}
	return out
}

// tokensIn is the second side of the token numbers that a model was called with.
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
