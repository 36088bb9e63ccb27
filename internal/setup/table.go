// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"snug/internal/family"
	"snug/internal/shadow/train"
)

// The table of settings has one row per field of a setup, in display order. A new setting needs a row here, a field
// in Setup, and code that simulates it. Rows for adapters are in table_adapters.go, those for GPUs, limits and
// versions in table_place.go; the allowed words are in words.go. The value that a trainer uses if its file does not
// set a key is the key's Default, in config/systems.

// one returns a list of one flag.
func one(name string) []Flag { return []Flag{{Name: name}} }

// always returns true. It is for settings that every recording shows or that a profile's figures depend on.
func always(Recorded) bool { return true }

// runSettings returns the rows for the model, the batch and the training.
func runSettings() []Setting {
	return []Setting{
		{
			Name: "model.head", Flags: one("head"), What: "model `head` to train", Words: family.Heads(),
			at: func(s *Setup) any { return &s.Model.Head },
		},
		{
			Name: "batch", Flags: one("batch"), What: "`samples` per GPU per forward pass (the micro-batch)", Least: 1, Most: maxBatch,
			Required: " is missing; it is the number of samples per GPU and forward pass", Use: InFiles | Size | InPlan | PlanAlways, ShownByProfile: always,
			Row: &Row{Cell: func(s *Setup) string { return number(s.Batch) }, Shown: shownAlways},
			at:  func(s *Setup) any { return &s.Batch },
		},
		{
			Name: "accumulation", Flags: one("accumulation"), What: "forward `passes` per optimizer step", Default: 1, Least: 1, Most: maxBatch,
			Use: InFiles | InPlan | PlanAlways, ShownByProfile: always, Phrases: phrase(func(s *Setup) bool { return s.shownAccumulation() > 1 }, "accumulation %d", func(s *Setup) any { return s.shownAccumulation() }),
			Row:      &Row{Cell: func(s *Setup) string { return number(s.Accumulation) }, Shown: shownAlways},
			Evidence: where(func(s *Setup) bool { return s.Accumulation > 1 }, "accumulation"),
			at:       func(s *Setup) any { return &s.Accumulation },
		},
		{
			Name: "precision", Flags: one("precision"), What: "`type` of weights and arithmetic", Words: Precisions, Default: FP32,
			Use: InFiles | Allowed | LockedByProfile | InPlan, ShownByProfile: func(p Recorded) bool { return p.Precision != "" },
			Phrases:  phrase(func(s *Setup) bool { return s.shownPrecision() != "" }, "%s", func(s *Setup) any { return s.shownPrecision() }),
			Row:      &Row{Cell: (*Setup).precisionText, Shown: func(now, _ *Setup) bool { return now.Precision != "" }},
			Evidence: func(s *Setup) []string { return []string{"precision " + s.Precision} },
			at:       func(s *Setup) any { return &s.Precision },
		},
		{
			Name: "weights", Flags: one("weights"), What: "`type` of the loaded weights, under autocast", Words: WeightTypes,
			Use: InFiles, ShownByProfile: func(p Recorded) bool { return p.Precision != "" },
			Phrases:  (*Setup).weightsPhrase,
			Row:      &Row{Cell: (*Setup).WeightsText, Shown: func(now, then *Setup) bool { return now.Weights+then.Weights != "" }},
			Evidence: where(func(s *Setup) bool { return s.Weights != "" }, "weights in 16 bits under autocast"),
			at:       func(s *Setup) any { return &s.Weights },
		},
		{
			Name: "checkpointing", Flags: one("checkpointing"), What: "gradient checkpointing",
			Use: InFiles | LockedByProfile | InPlan | PlanAlways, ShownByProfile: func(p Recorded) bool { return p.Checkpointing != nil },
			Phrases:  (*Setup).checkpointingPhrase,
			Row:      &Row{Cell: func(s *Setup) string { return yesNo(s.Checkpointing) }, Shown: func(now, _ *Setup) bool { return now.knowsCheckpointing() }},
			Evidence: where(func(s *Setup) bool { return s.Checkpointing }, "checkpointing"),
			at:       func(s *Setup) any { return &s.Checkpointing },
		},
		{
			Name: "use_reentrant", Flags: one("use-reentrant"), What: "reentrant checkpointing, the default in transformers 4",
			Use:      InFiles,
			Evidence: where((*Setup).Reentrant, "reentrant checkpointing"),
			at:       func(s *Setup) any { return &s.UseReentrant },
		},
		{
			Name: "seq", Flags: []Flag{{Name: "seq", What: "`tokens` per sample; text models need this, or lengths"}}, What: "`tokens` per sample", Least: 1, Most: maxSeq,
			Use: InFiles | Size | Allowed | InPlan, ShownByProfile: always, Row: &Row{Cell: func(s *Setup) string { return number(s.Seq) }},
			at: func(s *Setup) any { return &s.Seq },
		},
		{
			Name: "target_seq", Flags: one("target-seq"), What: "decoder `tokens` per sample", Least: 1, Most: maxSeq,
			Use: Size | InPlan, ShownByProfile: always, at: func(s *Setup) any { return &s.TargetSeq },
		},
		{
			Name: "resolution", Flags: one("resolution"), What: "width and height of the images in `pixels`, for diffusion models (default 512)", Least: 8, Most: maxResolution,
			Use: InFiles | Size, Phrases: phrase(func(s *Setup) bool { return s.Resolution > 0 }, "images of %d pixels", func(s *Setup) any { return s.Resolution }),
			Evidence: where(func(s *Setup) bool { return s.Resolution > 0 }, "diffusion"),
			at:       func(s *Setup) any { return &s.Resolution },
		},
		{
			Name: "lengths", Flags: []Flag{{Name: "lengths", What: "varying sample `lengths`: 128,512,… (one per step), uniform:64-512, or a file"}}, What: "varying sample `lengths`",
			Phrases:  phrase(func(s *Setup) bool { return s.Lengths != nil }, "varying lengths"),
			Evidence: where(func(s *Setup) bool { return s.Lengths != nil }, "varying lengths"),
			at:       func(s *Setup) any { return &s.Lengths },
		},
		{
			Name: "tokenizer", Flags: one("tokenizer"), What: "tokenizer.json `file`, to count the tokens of the texts in lengths",
			at: func(s *Setup) any { return &s.Tokenizer },
		},
		{
			Name: "seed", Flags: one("seed"), What: "random `seed` for drawing lengths", Most: maxWorld,
			at: func(s *Setup) any { return &s.Seed },
		},
		{
			Name: "loop", Flags: []Flag{{Name: "loop", What: "`loop` around the model: step, script, trainer, … or a Python file"}}, What: "what the `code` around the model does", Default: StepLoop,
			Phrases:  phrase(func(s *Setup) bool { return s.Loop != "" && s.loops() }, "%s loop", func(s *Setup) any { return s.loopName() }),
			Evidence: (*Setup).loopEvidence,
			at:       func(s *Setup) any { return &s.Loop },
		},
		{
			Name: "images", Flags: one("images"), What: "`images` per sample, for models with a vision tower; seq includes their tokens", Most: maxImages,
			Phrases:  (*Setup).imagesPhrase,
			Evidence: where(func(s *Setup) bool { return s.Images > 0 }, "images"),
			at:       func(s *Setup) any { return &s.Images },
		},
		{
			Name: "image_size", Flags: one("image-size"), What: "height of each image in `pixels`, after resizing, and its width unless image_width is given", Most: maxSide,
			at: func(s *Setup) any { return &s.ImageSize },
		},
		{
			Name: "image_width", Flags: one("image-width"), What: "width of each image in `pixels`, if it is not square", Most: maxSide,
			at: func(s *Setup) any { return &s.ImageWidth },
		},
		{
			Name: "freeze", Flags: one("freeze"), What: "`parts` of a model with a vision tower that are not trained and get no adapters", Words: family.VisionParts(),
			Phrases:  phrase(func(s *Setup) bool { return len(s.Freeze) > 0 }, "%s frozen", func(s *Setup) any { return spaced(s.Freeze) }),
			Evidence: where(func(s *Setup) bool { return len(s.Freeze) > 0 }, "frozen parts"),
			at:       func(s *Setup) any { return &s.Freeze },
		},
		{
			Name: "positives", Flags: one("positives"), What: "positive `samples` per anchor", Most: maxRank,
			Use: InFiles | Size | Allowed | InPlan, ShownByProfile: always,
			Row: &Row{Cell: func(s *Setup) string { return number(s.Positives) }, Shown: func(now, _ *Setup) bool { return now.Positives > 0 }},
			at:  func(s *Setup) any { return &s.Positives },
		},
		{
			Name: "negatives", Flags: one("negatives"), What: "negative `samples` per anchor", Most: maxRank,
			Use: InFiles | Size | Allowed | InPlan, ShownByProfile: always,
			Row: &Row{Cell: func(s *Setup) string { return number(s.Negatives) }, Shown: func(now, _ *Setup) bool { return now.Negatives > 0 }},
			at:  func(s *Setup) any { return &s.Negatives },
		},
		{
			Name: "choices", Flags: one("choices"), What: "`texts` to choose from per sample, for multiple-choice models (default 4, as in SWAG)", Most: maxRank, Use: Size,
			at: func(s *Setup) any { return &s.Choices },
		},
		{
			Name: "completion", Flags: one("completion"), What: "`tokens` in the answer of a sample, for loops that compare answers (default: half the sample)", Most: maxSeq, Use: Size,
			at: func(s *Setup) any { return &s.Completion },
		},
		{
			Name: "reference", Flags: one("reference"), What: "`model` that answers are compared against", Words: References,
			Phrases:  phrase(func(s *Setup) bool { return s.ComparesWith() != "" }, "%s", func(s *Setup) any { return referenceText[s.ComparesWith()] }),
			Evidence: func(s *Setup) []string { return onlyWhere(s.Reference != "", "reference "+s.Reference) },
			at:       func(s *Setup) any { return &s.Reference },
		},
		{
			Name: "optimizer", Flags: []Flag{{Name: "optimizer", What: "optimizer `name`: adamw, adamw-fused, sgd-momentum, ... (default adamw)"}}, What: "optimizer `name`", Words: train.OptimizerNames(), Default: "adamw",
			Use: InFiles | Allowed | LockedByProfile | InPlan, ShownByProfile: func(p Recorded) bool { return optimizerOf(p.Optimizer) != "" },
			Phrases:  phrase(func(s *Setup) bool { return s.shownOptimizer() != "" }, "%s", func(s *Setup) any { return s.shownOptimizer() }),
			Row:      &Row{Cell: (*Setup).plannedOptimizer, Shown: func(now, _ *Setup) bool { return now.Optimizer != "" }},
			Evidence: func(s *Setup) []string { return []string{"optimizer " + s.Optimizer} },
			at:       func(s *Setup) any { return &s.Optimizer },
			planned:  func(s *Setup) any { return s.plannedOptimizer() },
		},
		{
			Name: "loss", What: "`implementation` of a causal model's loss", Words: Losses, Use: InFiles,
			Flags:    []Flag{{Name: "loss", What: "`implementation` of a causal model's loss: model (all logits at once), trl (SFTTrainer of TRL 1.15 and later), liger, unsloth"}},
			Phrases:  phrase(func(s *Setup) bool { return s.Loss != "" }, "%s's loss", func(s *Setup) any { return lossBy[s.Loss] }),
			Evidence: func(s *Setup) []string { return onlyWhere(s.Loss != "", "loss "+s.Loss) },
			at:       func(s *Setup) any { return &s.Loss },
		},
		{
			Name: "liger", Flags: one("liger"), What: "`layers` that use Liger's kernels", Words: append(LigerParts[:len(LigerParts):len(LigerParts)], AllLiger), Use: InFiles,
			Phrases:  phrase(func(s *Setup) bool { return len(s.Liger) > 0 }, "Liger's %s", func(s *Setup) any { return spaced(s.Liger) }),
			Evidence: (*Setup).ligerEvidence, Lever: &ligerLever,
			at: func(s *Setup) any { return &s.Liger },
		},
		{
			Name: "unsloth", Flags: one("unsloth"), What: "`layers` that use Unsloth's kernels, as in fms-acceleration", Words: UnslothParts,
			Phrases:  phrase(func(s *Setup) bool { return len(s.Unsloth) > 0 }, "Unsloth's %s", func(s *Setup) any { return spaced(s.Unsloth) }),
			Evidence: where(func(s *Setup) bool { return len(s.Unsloth) > 0 }, "Unsloth's kernels"),
			at:       func(s *Setup) any { return &s.Unsloth },
		},
		{
			Name: "attention", Flags: one("attention"), What: "attention `implementation`", Words: Attentions, Default: SDPA,
			Use:      InFiles | LockedByProfile | InPlan,
			Phrases:  phrase((*Setup).attends, "%s attention", func(s *Setup) any { return s.attention() }),
			Row:      &Row{Cell: (*Setup).attention, Shown: func(now, _ *Setup) bool { return now.Model.Config != nil && now.attention() != "" }},
			Evidence: func(s *Setup) []string { return onlyWhere(s.Model.Config != nil, "attention "+s.Attention) },
			at:       func(s *Setup) any { return &s.Attention },
		},
		{
			Name: "attention_mask", Flags: one("attention-mask"), What: "the batch has an attention mask", Default: true,
			Evidence: where(func(s *Setup) bool { return s.AttentionMask != nil && !*s.AttentionMask }, "no mask"),
			at:       func(s *Setup) any { return &s.AttentionMask },
		},
		{
			Name: "clip", Flags: one("clip"), What: "gradient norm clipping", Use: InFiles,
			Phrases:  phrase(func(s *Setup) bool { return s.Clip }, "clipping"),
			Evidence: where(func(s *Setup) bool { return s.Clip }, "clipping"),
			at:       func(s *Setup) any { return &s.Clip },
		},
		{
			Name: "compile", Flags: one("compile"), What: "torch.compile, which is not simulated: the figures are without it",
			Phrases: phrase(func(s *Setup) bool { return s.Compile }, "torch.compile"),
			at:      func(s *Setup) any { return &s.Compile },
		},
		{
			Name: "set_to_none", Flags: one("set-to-none"), What: "zero_grad frees the gradients; false keeps them, filled with zeros", Default: true,
			Phrases:  phrase((*Setup).KeepsGradients, "gradients kept between steps"),
			Evidence: where((*Setup).KeepsGradients, "gradients kept between steps"),
			Lever:    &Lever{Change: "set_to_none", Can: (*Setup).KeepsGradients, Pull: func(s *Setup) { s.SetToNone = nil }},
			at:       func(s *Setup) any { return &s.SetToNone },
		},
	}
}
