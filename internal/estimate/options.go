// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"strings"

	"snug/internal/setup"
)

// Options is what of a setup changes what is allocated, in words.
func Options(s *setup.Setup) []string {
	out := []string{"precision " + s.Precision, "optimizer " + s.Optimizer}
	add := func(is bool, name string) {
		if is {
			out = append(out, name)
		}
	}
	add(s.Model.Config != nil, "attention "+s.Attention)
	add(s.AttentionMask != nil && !*s.AttentionMask, "no mask")
	add(s.Weights != "", "weights of 16 bits under autocast")
	add(s.Loss != "", "loss by "+s.Loss)
	for _, part := range s.Liger {
		add(true, "liger "+part)
	}
	add(s.Checkpointing, "checkpointing")
	if l := s.LoRA; l != nil {
		add(true, "lora")
		add(l.PEFT && s.Precision != "fp32", "lora by PEFT") // in float32 its adapters are like others
		add(l.DoRA, "dora")
		add(len(l.Save) > 0, "lora beside whole layers")
	}
	add(s.Packed != nil, "weights packed into 4 bits")
	add(s.Accumulation > 1, "accumulation")
	add(s.Clip, "clipping")
	add(strings.Contains(s.Allocator, "expandable_segments:True"), "expandable segments")
	if s.Dist != nil {
		out = append(out, "dist "+s.Dist.Kind)
	}
	add(s.Dist.LoadsSharded(), "sharded load")
	return out
}
