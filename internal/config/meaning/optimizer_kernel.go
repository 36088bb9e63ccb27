// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/shadow/train"
)

// PyTorch's Adam and AdamW have three kernels each, which take different amounts of memory. A setup contains
// adamw-fused; a file often has one key for the class and another next to it for the kernel.

// withKernel returns an optimizer's class with the kernel that the file selects.
func (r *Run) withKernel(class any) any {
	name, _ := class.(string)
	if full := name + "-" + r.kernel(); slices.Contains(train.OptimizerNames(), full) {
		return full
	}
	return class
}

// kernel returns the value of the key next to the optimizer, or else its default; "" if there is no such key.
func (r *Run) kernel() string {
	if of := r.BindingsOf("optimizer.kernel"); len(of) > 0 {
		name, _ := of[0].Value.(string)
		return name
	}
	k := r.OptimizerKey()
	if k == nil || k.Beside == nil {
		return ""
	}
	name, _ := projects.Default(k.Beside, 1).(string)
	return name
}

// OptimizerKey returns the key of the optimizer, or the key it would have; nil if unknown.
func (r *Run) OptimizerKey() *systems.Key {
	if of := r.BindingsOf("optimizer"); len(of) > 0 {
		return of[0].Key
	}
	if r.Primary == nil || r.Trainer() != r.Primary.System {
		return nil
	}
	for _, k := range r.Primary.System.ForSetting("optimizer") {
		if k.Default != "" {
			return k
		}
	}
	return nil
}

// SplitOptimizer splits an optimizer into class and kernel. The kernel is "" if the class has no choice of
// kernels.
func SplitOptimizer(optimizer string) (class, kernel string) {
	class, kernel, _ = strings.Cut(optimizer, "-")
	switch {
	case class != "adam" && class != "adamw" || kernel != "" && kernel != "fused" && kernel != "loop":
		return optimizer, ""
	case kernel == "":
		return class, "foreach"
	}
	return class, kernel
}

// ClipsUnfused reports whether gradients are clipped by code that refuses fused optimizers.
func (r *Run) ClipsUnfused() bool {
	return slices.ContainsFunc(r.BindingsOf("clip"), func(b projects.Bound) bool {
		return b.Value == true && b.Key.ClipsUnfused
	})
}
