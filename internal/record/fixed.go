// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"snug/internal/config"
	"snug/internal/profile"
	"snug/internal/run"
)

// fixedSizes returns the known sizes that were not varied: tokens per sample from the batches that the probe saw, and
// the rest from the config files at that time.
func (s *Session) fixedSizes(trials []*Trial) profile.Point {
	out := profile.Point{}
	varied := trials[0].At
	for name, n := range s.binder.configuredSizes() {
		if _, is := varied[name]; !is {
			out[name] = n
		}
	}
	seq := tokensPerSample(trials[0].Report)
	for _, t := range trials {
		if tokensPerSample(t.Report) != seq {
			seq = 0
		}
	}
	if _, is := varied["seq"]; !is && seq > 0 {
		out["seq"] = seq
	}
	return out
}

// sizesBesideBatch are the sizes, other than the batch, that files and commands may set.
var sizesBesideBatch = []string{"seq", "target_seq", "positives", "negatives"}

// configuredSizes returns the sizes set in the config files or, overriding them, in the command itself.
func (b binder) configuredSizes() profile.Point {
	out := profile.Point{}
	if project, err := b.project(b.launch.Args, "batch"); err == nil {
		fields := project.Fields()
		for _, name := range sizesBesideBatch {
			if n, ok := fields[name].(float64); ok && n >= 1 {
				out[name] = int64(n)
			}
		}
	}
	for _, given := range config.CommandSettings(b.launch.Args) {
		if n, ok := given.Value.(int); ok && n >= 1 && slices.Contains(sizesBesideBatch, given.Setting) {
			out[given.Setting] = int64(n)
		}
	}
	return out
}

// tokensPerSample returns the second dimension of the token IDs that a model was called with, or 0 without any.
func tokensPerSample(x *run.Report) int64 {
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
