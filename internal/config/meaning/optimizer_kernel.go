// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/shadow"
)

// PyTorch's Adam and AdamW have three kernels each, which differ in what they
// take: a setup says adamw-fused, and a file often the class under one key and the
// kernel under another beside it.

// withKernel is an optimizer's class with the kernel that the file picks for it.
func (p *Run) withKernel(class any) any {
	name, _ := class.(string)
	if full := name + "-" + p.kernel(); slices.Contains(shadow.OptimizerNames(), full) {
		return full
	}
	return class
}

// kernel is what the key beside the optimizer says, or else its default; "" where
// there is no such key.
func (p *Run) kernel() string {
	if of := p.BindingsOf("optimizer.kernel"); len(of) > 0 {
		name, _ := of[0].Value.(string)
		return name
	}
	k := p.OptimizerKey()
	if k == nil || k.Beside == nil {
		return ""
	}
	name, _ := projects.Default(k.Beside, 1).(string)
	return name
}

// OptimizerKey is the key that the optimizer stands under, or would; nil where
// nobody knows.
func (p *Run) OptimizerKey() *systems.Key {
	if of := p.BindingsOf("optimizer"); len(of) > 0 {
		return of[0].Key
	}
	if p.Primary == nil || p.Trainer() != p.Primary.System {
		return nil
	}
	for _, k := range p.Primary.System.ForSetting("optimizer") {
		if k.Default != "" {
			return k
		}
	}
	return nil
}

// SplitOptimizer is an optimizer as a class and a kernel; "" is for those that have no
// choice of kernels.
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

// ClipsUnfused tells whether gradients are clipped by who refuses to do that of a fused
// optimizer.
func (p *Run) ClipsUnfused() bool {
	return slices.ContainsFunc(p.BindingsOf("clip"), func(b projects.Bound) bool {
		return b.Value == true && b.Key.ClipsUnfused
	})
}
