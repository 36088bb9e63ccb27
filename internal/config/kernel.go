// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

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
	if of := p.of("optimizer.kernel"); len(of) > 0 {
		name, _ := of[0].Value.(string)
		return name
	}
	k := p.optimizerKey()
	if k == nil || k.Beside == nil {
		return ""
	}
	name, _ := keyDefault(k.Beside, 1).(string)
	return name
}

// optimizerKey is the key that the optimizer stands under, or would; nil where
// nobody knows.
func (p *Run) optimizerKey() *Key {
	if of := p.of("optimizer"); len(of) > 0 {
		return of[0].key
	}
	if p.main == nil || p.system() != p.main.adapter {
		return nil
	}
	for _, k := range p.main.adapter.forSetting("optimizer") {
		if k.Default != "" {
			return k
		}
	}
	return nil
}

// parted is an optimizer as a class and a kernel; "" is for those that have no
// choice of kernels.
func parted(optimizer string) (class, kernel string) {
	class, kernel, _ = strings.Cut(optimizer, "-")
	switch {
	case class != "adam" && class != "adamw" || kernel != "" && kernel != "fused" && kernel != "loop":
		return optimizer, ""
	case kernel == "":
		return class, "foreach"
	}
	return class, kernel
}

// clipsUnfused tells whether gradients are clipped by who refuses to do that of a fused
// optimizer.
func (p *Run) clipsUnfused() bool {
	return slices.ContainsFunc(p.of("clip"), func(b bound) bool {
		return b.Value == true && b.key.ClipsUnfused
	})
}
