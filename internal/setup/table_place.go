// SPDX-License-Identifier: Apache-2.0

package setup

import "strings"

// placeSettings returns the rows for where a run takes place: GPUs, limits and libraries.
func placeSettings() []Setting {
	return []Setting{
		{
			Name: "dist.kind", Flags: one("dist"), What: "`kind` of distributed training (zero1 is PyTorch's)", Words: DistKinds,
			Default: DDP, Use: InFiles | LockedByProfile | InPlan, ShownByProfile: always,
			Phrases:  phrase(func(s *Setup) bool { return s.Dist != nil }, "%s", func(s *Setup) any { return s.Dist.text() }),
			Row:      &Row{Label: "GPUs", Cell: func(s *Setup) string { return s.Dist.cell() }, Shown: func(now, then *Setup) bool { return now.Dist != nil || then.Dist != nil }},
			Evidence: (*Setup).distEvidence,
			at:       func(s *Setup) any { return &s.Dist.Kind },
		},
		{
			Name: "dist.world", Flags: one("gpus"), What: "`number` of GPUs", Least: 1, Most: maxWorld,
			Required: " is missing; it is the number of GPUs", Use: InFiles | InPlan, ShownByProfile: always,
			at: func(s *Setup) any { return s.Dist.along() },
		},
		{
			Name: "dist.bucket_view", Flags: one("bucket-view"), What: "DDP's gradient_as_bucket_view", Use: InPlan,
			ShownByProfile: func(p Recorded) bool { return max(p.World, 1) == 1 }, // for one process, the buckets are added to the recorded memory
			at:             func(s *Setup) any { return &s.Dist.BucketView },
		},
		{
			Name: "dist.param_dtype", Flags: one("param-dtype"), What: "`type` of FSDP's gathered parameters", Words: shardTypes, Use: InFiles | InPlan,
			at: func(s *Setup) any { return &s.Dist.ParamDType },
		},
		{
			Name: "dist.reduce_dtype", Flags: one("reduce-dtype"), What: "`type` of FSDP's reduced gradients", Words: shardTypes, Use: InPlan,
			at: func(s *Setup) any { return &s.Dist.ReduceDType },
		},
		{
			Name: "dist.load", Flags: one("dist-load"), What: "`how` each GPU loads the weights (sharded: meta device, zero.Init)", Words: Loads, Use: InFiles | InPlan,
			Phrases:  phrase(func(s *Setup) bool { return s.Dist != nil && s.Dist.Load != "" }, "loaded %s", func(s *Setup) any { return s.Dist.Load }),
			Row:      &Row{Label: "loaded", Cell: func(s *Setup) string { return s.Dist.loadedText() }, Shown: func(now, then *Setup) bool { return now.Dist.LoadsSharded() != then.Dist.LoadsSharded() }},
			Evidence: where(func(s *Setup) bool { return s.Dist.LoadsSharded() }, "sharded load"),
			at:       func(s *Setup) any { return &s.Dist.Load },
		},
		{
			Name: "allocator", Flags: one("allocator"), What: "a PYTORCH_CUDA_ALLOC_CONF `string`", Use: InFiles | InPlan, ShownByProfile: always,
			Phrases:  phrase(func(s *Setup) bool { return s.Allocator != "" }, "allocator %s", func(s *Setup) any { return strings.ReplaceAll(s.Allocator, ",", ", ") }),
			Row:      &Row{Cell: func(s *Setup) string { return orDefault(s.Allocator) }, Shown: func(now, then *Setup) bool { return now.Allocator+then.Allocator != "" }},
			Evidence: where(func(s *Setup) bool { return strings.Contains(s.Allocator, "expandable_segments:True") }, "expandable segments"),
			at:       func(s *Setup) any { return &s.Allocator },
		},
		{
			Name: "limit", Flags: one("limit"), What: "limit on the memory PyTorch reserves: a `size` like 24GiB", ShownByProfile: always,
			at: func(s *Setup) any { return &s.Limit },
		},
		{
			Name: "versions.torch", Flags: one("torch"), What: "PyTorch `version`", Default: NewestTorch, ShownByProfile: always,
			Phrases: phrase(func(*Setup) bool { return true }, "PyTorch %s", func(s *Setup) any { return s.Versions.Torch }),
			at:      func(s *Setup) any { return &s.Versions.Torch },
		},
		{
			Name: "versions.transformers", Flags: one("transformers"), What: "transformers `version`",
			Phrases: (*Setup).transformersPhrase,
			at:      func(s *Setup) any { return &s.Versions.Transformers },
		},
		{
			Name: "versions.cuda", What: "CUDA `version`",
			at: func(s *Setup) any { return &s.Versions.CUDA },
		},
		{
			Name: "versions.bitsandbytes", Flags: one("bitsandbytes"), What: "bitsandbytes `version`",
			at: func(s *Setup) any { return &s.Versions.BitsAndBytes },
		},
		{
			Name: "versions.peft", What: "PEFT `version`",
			at: func(s *Setup) any { return &s.Versions.PEFT },
		},
		{
			Name: "versions.trl", What: "TRL `version`",
			at: func(s *Setup) any { return &s.Versions.TRL },
		},
		{
			Name: "versions.accelerate", What: "accelerate `version`",
			at: func(s *Setup) any { return &s.Versions.Accelerate },
		},
		{
			Name: "steps", Flags: one("steps"), What: "`number` of optimizer steps to simulate", Default: 3, Least: 1, Most: maxRaggedSteps,
			at: func(s *Setup) any { return &s.Steps },
		},
	}
}
