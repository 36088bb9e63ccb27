// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"

	"snug/internal/config/projects"
)

// Value returns the current value of a setting, in a setup's terms, or nil if no file contains it: an int,
// float64, bool, string, []string or map[string]any. For a schedule it is the first phase; for several stages,
// the value that needs the most memory.
func (r *Run) Value(setting string) any {
	if r.Own != nil {
		if v, ok := r.Own.Set[setting]; ok {
			return v
		}
	}
	switch setting {
	case "optimizer":
		return r.withKernel(r.bestOf(setting))
	case "checkpointing":
		if sharded, _ := r.CheckpointingKeys(); AnyOn(sharded) {
			return true
		}
	}
	return r.bestOf(setting)
}

// bestOf returns the value that takes effect among a setting's values in the files.
func (r *Run) bestOf(setting string) any {
	var best, vague any
	neutral := false
	for _, b := range r.BindingsOf(setting) {
		if r.leavesToTrainer(b) {
			continue
		}
		switch v := b.Value.(type) {
		case nil:
			continue
		case string:
			if v == projects.Auto {
				continue
			}
			if v == "" {
				neutral = true
				continue
			}
		case []projects.Phase:
			best = firstNonNil(best, v[0].Count)
			continue
		}
		if b.Key.Vague {
			vague = firstNonNil(vague, b.Value)
			continue
		}
		v := b.Value
		if b.Key.OverGPUs && setting != "effective" {
			if n, ok := v.(int); ok {
				v = max(n/r.World(), 1)
			}
		}
		if b.Staged() {
			best = largerNumber(best, v)
		} else {
			best = firstNonNil(best, v)
		}
	}
	best = firstNonNil(best, vague)
	if best == nil && neutral && setting == "precision" {
		return "fp32"
	}
	return best
}

// firstNonNil returns the first of two values that is not nil. The tables and the order of files determine which
// comes first.
func firstNonNil(first, v any) any {
	if first != nil {
		return first
	}
	return v
}

func largerNumber(best, v any) any {
	a, ok := best.(int)
	b, also := v.(int)
	if ok && also {
		return max(a, b)
	}
	return firstNonNil(best, v)
}

// World returns the number of GPUs given by the user or the files, otherwise 1.
func (r *Run) World() int {
	if r.gpus > 0 {
		return r.gpus
	}
	if r.Own != nil {
		if v, ok := r.Own.Set["dist.world"].(int); ok {
			return v
		}
	}
	if n := r.firstNumber("dist.world"); n > 0 {
		return n * max(r.firstNumber("nodes"), 1)
	}
	// DeepSpeed and Axolotl have a key for batch × accumulation × GPUs.
	each := r.firstNumber("batch") * r.firstNumber("accumulation")
	if total := r.firstNumber("effective"); each > 0 && total%each == 0 {
		return max(total/each, 1)
	}
	return 1
}

// firstNumber returns the first number that is bound to a setting, else 0.
func (r *Run) firstNumber(setting string) int {
	for _, b := range r.BindingsOf(setting) {
		if n, ok := b.Value.(int); ok {
			return n
		}
	}
	return 0
}

// Whole returns a setting as a number, or the system's default if no file contains it; 0 if unknown.
func (r *Run) Whole(setting string) int {
	if n, ok := r.Value(setting).(int); ok {
		return n
	}
	n, _ := r.DefaultValue(setting).(int)
	return n
}

// DefaultValue returns the default of a setting in the run's system. "auto" in DeepSpeed's file leaves the value
// to the trainer.
func (r *Run) DefaultValue(setting string) any {
	isSet := slices.ContainsFunc(r.BindingsOf(setting), func(b projects.Bound) bool {
		return (b.Value != projects.Auto || !b.Source.System.Tied) && !r.leavesToTrainer(b)
	})
	if isSet && setting != "precision" || r.Ambiguous(setting) != "" {
		return nil
	}
	return r.trainerDefault(setting)
}

// trainerDefault returns the value that the run's system uses if there is no key.
func (r *Run) trainerDefault(setting string) any {
	for _, k := range r.Trainer().ForSetting(setting) {
		if v := projects.Default(k, r.World()); v != nil {
			if setting == "optimizer" {
				return r.withKernel(v)
			}
			return v
		}
	}
	return nil
}

// totalDecides reports whether the files have the system's key for the total batch and none for the accumulation,
// so that the latter follows from the former and not from its default.
func (r *Run) totalDecides() bool {
	return len(r.BindingsOf("accumulation")) == 0 && slices.ContainsFunc(r.BindingsOf("effective"), func(b projects.Bound) bool {
		_, known := b.Value.(int)
		return known && !b.Key.IsCommonName()
	})
}

// Accumulation returns the number of forward passes per optimizer step: from its own key, or from the total
// batch if a system has only that.
func (r *Run) Accumulation() int {
	if n := r.Whole("accumulation"); n > 0 && !r.totalDecides() {
		return n
	}
	total, batch := r.Whole("effective"), r.Whole("batch")
	if total == 0 || batch == 0 {
		return 1
	}
	each := batch * r.World()
	switch t := r.Trainer(); {
	case t.RoundsAccumulation:
		return max((total+each/2)/each, 1)
	case t.CeilsAccumulation:
		return max((total+each-1)/each, 1)
	}
	return max(total/each, 1)
}
