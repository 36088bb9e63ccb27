// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/units"
)

// Notes lists what the user should know about a run on a card besides its figures: what the figures omit, and what
// the card's hardware does not support.
func Notes(s *setup.Setup, card gpu.Card) []string {
	return NotesNamed(s, card, func(field string) string { return "--" + field })
}

// modelNotes returns notes on how the model is simulated.
func modelNotes(s *setup.Setup) (out []string) {
	if s.Model.HasExperts() && s.Versions.TransformersRelease() < 500 && Profile(s) == nil {
		out = append(out, "experts are assumed to get equal numbers of tokens; an expert that gets more tokens briefly takes more memory")
	}
	if packages := s.Model.Faster(); packages != "" && Profile(s) == nil {
		out = append(out, fmt.Sprintf("the kernels of %s are not simulated: the figures are for transformers' own code, which runs if they are not installed, and usually takes more memory", packages))
	}
	if s.Rows() > 1 && s.Choices == 0 && !s.Script.Readable() && !s.Model.RowsMeasured() && s.Model.Program == nil {
		out = append(out, "anchors, positives and negatives are assumed to be encoded in one forward pass; encoded one after another, they take a little less")
	}
	return out
}

// NotesNamed is Notes with each field name replaced by the result of name.
func NotesNamed(s *setup.Setup, card gpu.Card, name func(field string) string) []string {
	var out []string
	if n := len(s.Unverified); n > 0 {
		out = append(out, fmt.Sprintf("%s: not recorded in %s, so %s not affect the figures",
			strings.Join(s.Unverified, ", "), filepath.Base(s.Model.Profile), map[bool]string{true: "it does", false: "they do"}[n == 1]))
	}
	if s.Model.TakenFor != "" {
		out = append(out, fmt.Sprintf("the model %s is not available; judging by its name, it is assumed to be %s; if its shapes or its vocabulary differ, give its config.json with %s",
			s.Model.Name, s.Model.TakenFor, name("config")))
	}
	if s.Lengths != nil && s.Lengths.Each == nil {
		out = append(out, fmt.Sprintf("lengths were drawn with %s %d: a different order, or more steps, may reserve more than the interval", name("seed"), s.Seed))
	}
	if s.LongestOnlyFirst() {
		out = append(out, fmt.Sprintf("the longest batch, of %d tokens, comes only in the first step, before the first update; if the run goes through the list again, give %s %d", s.Seq, name("steps"), s.Steps+1))
	}
	out = append(out, s.Lengths.Notes()...)
	out = append(out, s.Script.Notes()...)
	if s.Script.Readable() && s.Dist != nil && !s.FollowsOverGPUs() && !s.Script.Abandoned() {
		out = append(out, fmt.Sprintf("%s %s is followed on one GPU only: the figures assume that each step runs in its own function, and may be too low", name("loop"), s.Script.Path()))
	}
	out = append(out, gradientNotes(s, name)...)
	out = append(out, imageNotes(s, name)...)
	out = append(out, reentrantNotes(s)...)
	out = append(out, modelNotes(s)...)
	if s.Dist != nil && s.DistKind() != s.Dist.Kind {
		out = append(out, fmt.Sprintf("PyTorch %s has no %s, which was added in 2.6; it is simulated as %s", s.Versions.Torch, s.Dist.Kind, s.DistKind()))
	}
	out = append(out, shardedAnswersNotes(s)...)
	out = append(out, evaluationNotes(s)...)
	if s.Compile && s.Model.Program == nil {
		out = append(out, "torch.compile is not simulated: the figures are for eager mode, which usually takes more memory, because fused ops keep fewer activations, but sometimes less")
	}
	out = append(out, idleVersions(s)...)
	out = append(out, weightless(s)...)
	if Profile(s) == nil {
		for _, t := range simulate.UnknownTargets(s) {
			out = append(out, fmt.Sprintf("%s %s: this model has no linear layer of that name, so no adapter is added", name("lora-targets"), t))
		}
	}
	if text := loadedNote(s, name); text != "" {
		out = append(out, text)
	}
	if instead := insteadOfBF16(s); instead != "" && card.LacksBF16() {
		out = append(out, fmt.Sprintf("%s has no bf16 hardware and emulates it, so the run takes longer than snug estimates; %s", card.Name, instead))
	}
	if s.Attention == "flash" && card.LacksFlash() {
		out = append(out, fmt.Sprintf("%s has no kernels for flash attention, so the run would fail; use attention sdpa", card.Name))
	}
	if s.Optimizer == "adamw-torchao-8bit" {
		out = append(out, "torchao compiles its update; the first time, Triton compares kernels on copies of the states, which are not counted")
	}
	if s.Diffuses() {
		out = append(out, "no run of a diffusion model has been measured on a GPU; the simulation was checked against diffusers and PyTorch running without one")
	}
	if slices.Contains(s.Liger, "mlp") && s.Model.HasExperts() {
		out = append(out, "Liger autotunes its expert kernels in the first step; Triton briefly takes 256 MiB for this, which is not counted; LIGER_FUSED_MOE_AUTOTUNE=0 turns it off")
	}
	return out
}

// imageNotes returns notes on a model with a vision tower.
func imageNotes(s *setup.Setup, name func(field string) string) []string {
	if older := s.OlderVision(); older != "" && s.Model.Program == nil {
		return append([]string{older}, towerNotes(s, name)...)
	}
	return towerNotes(s, name)
}

// towerNotes returns imageNotes that apply to every release.
func towerNotes(s *setup.Setup, name func(field string) string) []string {
	switch {
	case s.Model.Program == nil && s.AssumesImages() && (s.Script.Readable() || s.Model.Config != nil):
		seen := s.ImagesSeen()
		return []string{fmt.Sprintf("the size of the images depends on the data; %d by %d pixels are assumed; for another size, give %s", seen.Height, seen.Width, name("image-size"))}
	case s.Model.Program != nil || !s.Model.HasVision():
		return nil
	case s.Images == 0:
		return []string{fmt.Sprintf("the model is trained on text alone, so its vision tower takes no activations; for images give %s and %s", name("images"), name("image-size"))}
	case s.Attention == "flash" && s.Model.JoinsImages():
		return []string{"flash attention in the vision tower runs on all images at once, and its backward pass takes a little more memory than shown: 128 rows for each image or window"}
	}
	return nil
}

// reentrantNotes returns a note if reentrant checkpointing is selected but not simulated.
func reentrantNotes(s *setup.Setup) []string {
	if s.UseReentrant == nil || !*s.UseReentrant || !s.Checkpointing || s.SimulatesReentrant() || s.Model.Program != nil {
		return nil
	}
	return []string{fmt.Sprintf("reentrant checkpointing is not simulated with %s; the figures are for use_reentrant=False and may be too low", s.DistKind())}
}

// shardedAnswersNotes returns notes on loops that compare answers, if they are sharded over several GPUs.
func shardedAnswersNotes(s *setup.Setup) []string {
	switch {
	case s.Dist == nil || !setup.ComparesAnswers(s.Loop) || s.Model.Program != nil:
		return nil
	case s.DistKind() == setup.Zero3:
		return []string{"DeepSpeed's ZeRO-3 gathers and reduces at slightly other times than simulated here; the run may need up to 3 % more than shown"}
	case s.DistKind() == setup.FSDP1 && s.LoRA != nil:
		return []string{"PEFT casts the inputs of its adapters to float32 under FSDP1, which is not counted; the run may need 3 % more than shown"}
	}
	return nil
}

// evaluationNotes returns notes on the parts of an evaluation that are not counted.
func evaluationNotes(s *setup.Setup) []string {
	e := s.Evaluation
	switch {
	case e == nil || s.Model.Program != nil:
		return nil
	case setup.ComparesAnswers(s.Loop):
		return []string{fmt.Sprintf("evaluation is not simulated with loop %s: the figures are for training only, and too low if the evaluation has a much larger batch", s.Loop)}
	case !s.EvaluatesWhole() && !e.KeepsLogits && s.EvaluationBatch() <= s.Batch:
		return nil // a forward pass without gradients takes less than a step
	case !s.EvaluatesWhole():
		return []string{fmt.Sprintf("evaluation is not simulated with %s: the figures are for training only, and too low if the evaluation, at batch %d, takes more", s.DistKind(), s.EvaluationBatch())}
	case e.KeepsLogits && s.Dist != nil:
		return []string{"logits that the evaluation gathers from other GPUs are not counted: the figures may be too low"}
	case e.Every > s.Steps:
		return []string{fmt.Sprintf("evaluation.every is %d, but only %d steps are simulated; one evaluation is simulated after them", e.Every, s.Steps)}
	case e.KeepsLogits && e.Batches == 0 && e.Logits() > 0:
		return []string{fmt.Sprintf("the evaluation keeps logits of %d batches; each further batch adds %s; set their number with evaluation.batches (--eval-batches)", e.BatchCount(), units.Bytes(e.Logits()))}
	}
	return nil
}

// weightless returns notes on settings that are given but take no memory.
func weightless(s *setup.Setup) (out []string) {
	if Profile(s) != nil {
		return nil // reported among the unverified fields
	}
	if s.LoRA != nil && s.LoRA.Alpha > 0 {
		out = append(out, fmt.Sprintf("lora.alpha %g scales the output of the adapters and takes no memory", s.LoRA.Alpha))
	}
	switch q := s.Quantization; {
	case q.ByGPTQ() && q.Kernel != setup.TritonV2:
		out = append(out, "the dequantization in GPTQModel's layers is counted as compiled; if PyTorch gives up compiling it, the run needs more memory")
	case q != nil && q.Bits == setup.EightBits && !q.Packed():
		out = append(out, "input columns that contain values of 6 or more are multiplied in 16 bits; how many there are depends on the data, and none are counted, so the run needs slightly more memory")
	}
	if s.Quantization != nil && s.Quantization.Type == setup.FP4 {
		out = append(out, "quantization.type fp4 takes as much memory as nf4")
	}
	return out
}

// idleVersions returns notes on versions that are given in a setup but do not affect its figures.
func idleVersions(s *setup.Setup) (out []string) {
	if Profile(s) != nil {
		return nil // reported among the unverified fields
	}
	say := func(is bool, text string) {
		if is {
			out = append(out, text)
		}
	}
	v := s.Versions
	if text := transformersNote(s); text != "" {
		out = append(out, text)
	}
	say(v.CUDA != "", "versions.cuda is "+v.CUDA+" and has no effect: kernels are simulated as in CUDA 13.0")
	say(v.BitsAndBytes != "" && (s.Quantization == nil || s.Quantization.Packed()), "versions.bitsandbytes is "+v.BitsAndBytes+" and has no effect: it quantizes no weights")
	say(v.PEFT != "" && (s.LoRA == nil || !s.LoRA.PEFT), "versions.peft is "+v.PEFT+" and has no effect: no PEFT adapters are simulated")
	say(v.PEFT != "" && s.LoRA != nil && s.LoRA.PEFT, "versions.peft is "+v.PEFT+" and has no effect: adapters are simulated as in PEFT "+setup.NewestPEFT)
	say(v.TRL != "" && s.Loss != setup.TRLLoss && !s.DependsOnTRL(), "versions.trl is "+v.TRL+" and has no effect: it affects only TRL's own loss (loss trl)")
	say(v.TRL != "" && s.Loss == setup.TRLLoss && v.TRLRelease() < setup.TRLLossRelease, "versions.trl is "+v.TRL+", which computes the loss in pieces of 256 tokens; it is simulated as in TRL "+setup.NewestTRL)
	say(v.TRL != "" && s.Loss == setup.TRLLoss && v.TRLRelease() >= setup.TRLLossRelease, "versions.trl is "+v.TRL+", whose loss is the same as in TRL "+setup.NewestTRL)
	say(v.Accelerate != "", "versions.accelerate is "+v.Accelerate+" and has no effect: its loop is simulated as in accelerate "+setup.NewestAccelerate)
	return out
}

// transformersNote returns a note on the simulated transformers release, if the user gave another release or none.
func transformersNote(s *setup.Setup) string {
	v := s.Versions
	switch {
	case v.Transformers == "" && s.DiffersByTransformers():
		return fmt.Sprintf("models are simulated as in transformers %s, which was current at the time of PyTorch %s; choose another with versions.transformers", v.AssumedTransformers(), v.Torch)
	case v.Transformers == "":
		return ""
	case !s.DiffersByTransformers():
		return "versions.transformers is " + v.Transformers + ", but the simulated code of this run is the same in transformers " + setup.NewestTransformers
	}
	return ""
}

// loadedNote returns a note that the saved type of the weights is unknown, if that matters.
func loadedNote(s *setup.Setup, name func(field string) string) string {
	weights := name("weights")
	switch {
	case s.Guessed && s.LoRA != nil:
		return fmt.Sprintf("the frozen weights are assumed to be %s: the saved type of %s is not known; give it with %s", s.Weights, s.Model.Title(), weights)
	case s.Guessed && s.ComputesIn() == "amp-fp16":
		return fmt.Sprintf("the weights are assumed to be fp32: the saved type of %s is not known; with 16-bit weights the gradient scaler would fail; give it with %s", s.Model.Title(), weights)
	case s.Guessed:
		return fmt.Sprintf("the weights are assumed to be fp32: the saved type of %s is not known; 16-bit weights take about half; give it with %s", s.Model.Title(), map[bool]string{true: weights, false: name("precision")}[s.Autocasts()])
	}
	return ""
}

// insteadOfBF16 returns advice for a card without bf16, or "" if the run does not use bf16.
func insteadOfBF16(s *setup.Setup) string {
	in := s.ComputesIn()
	asked := in == "amp-bf16" || in == "bf16"
	switch d := s.Dist; {
	case asked && s.Quantization != nil && s.Quantization.Adapters != "":
		return "fp16 is not possible, because its gradient scaler does not work with TRL's 16-bit adapters"
	case asked && s.NeverTrains("amp-fp16"):
		return "these files cannot combine amp-fp16 with weights that a gradient scaler supports"
	case asked:
		return "use precision amp-fp16, with a gradient scaler"
	case s.Quantization != nil && s.Quantization.Compute == "bf16":
		return "compute with quantized weights in fp16"
	case d != nil && strings.Contains(d.ParamDType+d.ReduceDType, "bf16"):
		return "use fp16 or fp32 for FSDP2's param_dtype and reduce_dtype"
	}
	return ""
}

// Runnable returns an error if the run would fail on the card regardless of memory.
func Runnable(s *setup.Setup, card gpu.Card) error {
	if s.Attention == setup.Flash && card.LacksFlash() && s.Model.Program == nil {
		return setup.Wrong("{attention} is flash, which has no kernels for %s, so the run would fail; use {attention=sdpa}", card.Name)
	}
	return nil
}

// Uncounted returns notes on memory that a run would use beyond its recordings and that cannot be counted, because
// the profile does not show how large it is or whether it is already included.
func Uncounted(s *setup.Setup) []string {
	p := Profile(s)
	if p == nil {
		return nil
	}
	var out []string
	say := func(is bool, text string) {
		if is {
			out = append(out, fmt.Sprintf(text, filepath.Base(s.Model.Profile)))
		}
	}
	unsized := p.Facts.Gradients == 0
	say(s.Accumulation > 1 && p.Facts.Accumulation == 0,
		"%s does not contain the number of forward passes per step; if it was one, accumulation adds gradients, which are not counted")
	say(addsGradients(s) && unsized, "%s does not contain the size of the gradients, so those that accumulation adds are not counted")
	say(addsBuckets(s) && unsized,
		"DDP's buckets, one copy of the gradients, are not counted: %s does not contain the size of the gradients; snug profile records it")
	return out
}
