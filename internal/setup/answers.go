// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"maps"
	"slices"

	"snug/internal/family"
)

// Some loops compare answers: a sample is a prompt with one or two answers, and often a second model scores them too.

// references lists the values of reference that each loop supports. The first is the default for a run without
// adapters.
var references = map[string][]string{
	DPOLoop:    {ReferenceModel, ReferenceAdapters, ReferenceBefore},
	KTOLoop:    {ReferenceModel, ReferenceAdapters, ReferenceBefore},
	GRPOLoop:   {ReferenceNone, ReferenceModel, ReferenceAdapters},
	RewardLoop: {ReferenceNone},
	ORPOLoop:   {ReferenceNone},
	CPOLoop:    {ReferenceNone},

	AxolotlDPOLoop: {ReferenceModel, ReferenceAdapters},
	FactoryDPOLoop: {ReferenceModel, ReferenceAdapters, ReferenceNone},
	FactoryKTOLoop: {ReferenceModel, ReferenceAdapters},
}

// ComparesAnswers reports whether a loop compares answers.
func ComparesAnswers(loop string) bool { return references[loop] != nil }

// ComparesWith returns what a run's answers are compared against, one of References: the setup's value or the loop's
// default, or the script's choice once it has been followed. It is "" for loops that never have a reference.
func (s *Setup) ComparesWith() string {
	of := references[s.Loop]
	switch {
	case s.Script != nil && s.Script.File != nil:
		return s.Script.Reference()
	case len(of) < 2:
		return ""
	case s.Reference != "":
		return s.Reference
	case of[0] == ReferenceModel && s.LoRA != nil:
		return ReferenceAdapters
	}
	return of[0]
}

// Releases of TRL before TRLLossRelease compute DPO's log-probabilities from all logits at once. They are simulated
// too, but only for DPO.
const (
	firstTRLDPO      = 20
	unreadTRLDPO     = 105 // the release between two implementations; its code was not read
	lastTRLDPOLogits = TRLLossRelease - 1
)

// SimulatesTRL reports whether a loop that compares answers is simulated as in a TRL release, such as 109 for 1.9.
func SimulatesTRL(loop string, release int) bool {
	switch {
	case LoopDependsOnTRL(loop):
		return release >= firstTRLDPO && release != unreadTRLDPO
	case loop == FactoryDPOLoop || loop == FactoryKTOLoop: // they have their own code
		return true
	}
	return release >= TRLLossRelease
}

// sharded lists the loops that compare answers and are simulated with each kind of sharding; with DDP all are.
var sharded = map[string][]string{
	DPOLoop:    {FSDP1, FSDP2, FSDP2NoReshard, Zero1DeepSpeed, Zero2, Zero3},
	KTOLoop:    {FSDP1, FSDP2, FSDP2NoReshard, Zero1DeepSpeed, Zero2, Zero3},
	RewardLoop: {FSDP1, FSDP2, FSDP2NoReshard, Zero1DeepSpeed, Zero2, Zero3},
	ORPOLoop:   {Zero1DeepSpeed, Zero2, Zero3},
	CPOLoop:    {Zero1DeepSpeed, Zero2, Zero3},
	GRPOLoop:   {Zero1DeepSpeed, Zero2},
}

// SimulatedOver reports whether a loop that compares answers is simulated on several GPUs with a kind of data parallelism.
func SimulatedOver(loop, kind string) bool {
	return ComparesAnswers(loop) && (kind == DDP || slices.Contains(sharded[loop], kind))
}

// FollowsOverGPUs reports whether the loop is simulated on several GPUs, as loops that compare answers are.
func (s *Setup) FollowsOverGPUs() bool {
	return s.Script != nil && SimulatedOver(s.Script.Name, s.DistKind())
}

// DependsOnTRL reports whether the simulation of the run may depend on the release of TRL.
func (s *Setup) DependsOnTRL() bool {
	return LoopDependsOnTRL(s.Loop) || s.Script != nil && s.Script.File != nil
}

// LoopDependsOnTRL reports whether the simulation of a loop depends on the release of TRL.
func LoopDependsOnTRL(loop string) bool { return loop == DPOLoop || loop == AxolotlDPOLoop }

// completeAnswers checks the settings of a loop that compares answers. A reward model is the setup's model with a
// head that returns one number.
func (s *Setup) completeAnswers(loop string) error {
	switch {
	case !slices.Contains(s.Model.facts().Heads, family.CausalLM):
		return Wrong("{loop} %s trains causal language models, but %s is not one", loop, s.Model.Title())
	case s.Dist != nil && !s.FollowsOverGPUs():
		return Wrong("{loop} %s is simulated with %s, not with {dist.kind} %s; choose one of them, or measure it: snug profile -- <your command>", loop, spaced(append([]string{DDP}, sharded[loop]...)), s.Dist.Kind)
	case s.shards() && s.Quantization != nil:
		return Wrong("{loop} %s with quantized weights is not simulated with {dist.kind} %s; choose {dist.kind=ddp}, or measure it: snug profile -- <your command>", loop, s.Dist.Kind)
	case s.shards() && s.LoRA != nil && s.DistKind() == Zero3:
		return Wrong("{loop} %s with adapters is not simulated with {dist.kind} zero3; choose {dist.kind=zero2}, or measure it: snug profile -- <your command>", loop)
	case s.shards() && s.Versions.TRLRelease() < TRLLossRelease:
		return Wrong("{loop} %s is not simulated with {dist.kind} %s and TRL %s; remove {versions.trl}, or measure it: snug profile -- <your command>", loop, s.Dist.Kind, s.Versions.TRL)
	case !SimulatesTRL(loop, s.Versions.TRLRelease()):
		return Wrong("{loop} %s is not simulated with TRL %s; remove {versions.trl}, or measure it: snug profile -- <your command>", loop, s.Versions.TRL)
	case s.Reference == ReferenceBefore && s.Versions.TRLRelease() <= lastTRLDPOLogits:
		return Wrong("{reference} is precomputed, which is not simulated with TRL %s; measure it: snug profile -- <your command>", s.Versions.TRL)
	case s.Reference != "" && !slices.Contains(references[loop], s.Reference):
		return Wrong("{reference} is %s, which {loop} %s does not support; choose one of: %s", s.Reference, loop, spaced(references[loop]))
	case s.Reference == ReferenceAdapters && s.LoRA == nil:
		return Wrong("{reference} is adapters, but there are none to switch off; set {lora.rank}, or choose {reference=model}")
	case loop == GRPOLoop && s.Reference == ReferenceModel && s.LoRA != nil:
		return Wrong("{reference} is model, but with adapters {loop} %s switches them off instead; choose {reference=adapters}", loop)
	}
	if loop == RewardLoop {
		s.Model.Config = maps.Clone(s.Model.Config)
		s.Model.Config["num_labels"] = 1.0
		s.Model.Head = family.SequenceClassification
	}
	return nil
}

// shards reports whether the run uses several GPUs with anything other than DDP.
func (s *Setup) shards() bool { return s.Dist != nil && s.DistKind() != DDP }

// checkAnswers returns an error for answer settings with a loop that has no answers. A script has its own reference.
func (s *Setup) checkAnswers() error {
	named := s.Script == nil || s.Script.File == nil
	switch {
	case s.Completion > 0 && s.Completion >= s.Seq && s.Seq > 0:
		return Wrong("{completion} is %d, but a sample has %d tokens, including the prompt; choose a smaller number, or a larger {seq}", s.Completion, s.Seq)
	case s.Completion > 0 && named && (!ComparesAnswers(s.Loop) || s.Loop == RewardLoop):
		return Wrong("{completion} is %d, but {loop} %s does not separate answers from prompts; remove it, or choose a loop such as trl-dpo", s.Completion, s.shownLoop())
	case s.Reference != "" && !named:
		return Wrong("{reference} is %s, but the script decides what answers are compared against; remove it", s.Reference)
	case s.Reference != "" && !ComparesAnswers(s.Loop):
		return Wrong("{reference} is %s, but {loop} %s does not compare answers; remove it, or choose a loop such as trl-dpo", s.Reference, s.shownLoop())
	}
	return nil
}

// shownLoop returns the loop's name for messages.
func (s *Setup) shownLoop() string {
	if s.Loop == "" {
		return StepLoop
	}
	return s.loopName()
}
