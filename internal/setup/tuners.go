// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"slices"

	"snug/internal/family"
)

// tunerFacts describes a method of PEFT.
type tunerFacts struct {
	title   string // its name in prose
	ranked  bool   // it has a rank
	drops   bool   // it has a dropout that is simulated
	prompts bool   // it trains virtual tokens instead of changing layers
}

// tunerTable has a row for each of Tuners.
var tunerTable = map[string]tunerFacts{
	LoRATuner:    {title: "LoRA", ranked: true, drops: true},
	IA3:          {title: "IA3"},
	AdaLoRA:      {title: "AdaLoRA", ranked: true, drops: true},
	VeRA:         {title: "VeRA", ranked: true, drops: true},
	LoHa:         {title: "LoHa", ranked: true},
	LoKr:         {title: "LoKr", ranked: true},
	OFT:          {title: "OFT"},
	PromptTuning: {title: "prompt tuning", prompts: true},
	PTuning:      {title: "p-tuning", prompts: true},
	PrefixTuning: {title: "prefix tuning", prompts: true},
}

// tuner returns the facts about the method; LoRA's if none is set.
func (l *LoRA) tuner() tunerFacts { return tunerTable[cmp.Or(l.Tuner, LoRATuner)] }

// Title returns the method's name in prose.
func (l *LoRA) Title() string { return l.tuner().title }

// Ranked reports whether the method has a rank.
func (l *LoRA) Ranked() bool { return l.tuner().ranked }

// Prompts reports whether virtual tokens are trained instead of adapters.
func (l *LoRA) Prompts() bool { return l.tuner().prompts }

// completeTuner fills in PEFT's defaults for a method other than LoRA, and refuses settings that it does not have.
func (s *Setup) completeTuner() error {
	l, t := s.LoRA, s.LoRA.tuner()
	l.PEFT = true
	switch {
	case l.Rank != 0 && !t.ranked:
		return Wrong("{lora.rank} is %d, but %s has no rank; remove it", l.Rank, t.title)
	case l.DoRA:
		return Wrong("{lora.tuner} %s has no {lora.dora}; remove it", l.Tuner)
	case l.Alpha != 0 && !t.ranked:
		return Wrong("{lora.tuner} %s has no {lora.alpha}; remove it", l.Tuner)
	case l.Dropout != 0 && t.ranked && !t.drops:
		return Wrong("{lora.dropout} %v: %s then skips layers at random, which is not simulated; set it to 0, or measure the run: snug profile -- <your command>", l.Dropout, t.title)
	case l.Dropout != 0 && !t.drops:
		return Wrong("{lora.tuner} %s has no {lora.dropout}; remove it", l.Tuner)
	case s.Quantization != nil:
		return Wrong("{lora.tuner} %s over quantized weights is not simulated; remove {quantization.bits}, or measure the run: snug profile -- <your command>", l.Tuner)
	case s.Dist != nil && s.DistKind() != DDP:
		return Wrong("{lora.tuner} %s with {dist.kind} %s is not simulated; choose {dist.kind=ddp}, or measure the run: snug profile -- <your command>", l.Tuner, s.Dist.Kind)
	case t.prompts:
		return s.completePrompt()
	case l.Tuner == IA3:
		return s.completeIA3()
	case l.Tuner == OFT && l.Block == 0:
		l.Block = 32
	}
	return s.completeTargets()
}

// completeTargets fills in the layers that PEFT's method changes by default.
func (s *Setup) completeTargets() error {
	l := s.LoRA
	if len(l.Targets) > 0 {
		return nil
	}
	if l.Targets = family.TunerLayers(l.Tuner, s.Model.Family()); l.Targets == nil {
		return Wrong("{lora.targets} is empty, but PEFT's %s has no defaults for %s; name the linear layers to adapt, or all-linear", l.tuner().title, s.Model.Title())
	}
	return nil
}

// completeIA3 fills in the layers whose inputs IA3 scales.
func (s *Setup) completeIA3() error {
	l := s.LoRA
	if len(l.Targets) == 0 {
		targets, feedforward := family.IA3Layers(s.Model.Family())
		if targets == nil {
			return Wrong("{lora.targets} is empty, but PEFT's IA3 has no defaults for %s; name the layers to scale, and {lora.feedforward}", s.Model.Title())
		}
		l.Targets = targets
		if l.Feedforward == nil {
			l.Feedforward = feedforward
		}
	}
	for _, name := range l.Feedforward {
		if !slices.Contains(l.Targets, name) {
			return Wrong("{lora.feedforward} %s is not one of {lora.targets}, which PEFT requires", name)
		}
	}
	return nil
}

// PrefixRecomputed returns the error for prefix tuning with checkpointing, which fails in PEFT too.
func PrefixRecomputed() error {
	return Wrong("{checkpointing} does not work with {lora.tuner} prefix: PEFT passes the prefix in a cache, which recomputation would extend again; turn one of them off")
}

// completePrompt checks the settings of virtual tokens.
func (s *Setup) completePrompt() error {
	l := s.LoRA
	switch {
	case l.Virtual == 0:
		return Wrong("{lora.virtual_tokens} is missing; {lora.tuner} %s needs it, and 20 is usual", l.Tuner)
	case len(l.Targets) > 0:
		return Wrong("{lora.targets}: {lora.tuner} %s changes no layers; remove it", l.Tuner)
	case l.Projection && l.Tuner != PrefixTuning:
		return Wrong("{lora.prefix_projection} is for {lora.tuner=prefix}; remove it")
	case l.Encoder > 0 && l.Tuner != PTuning && !l.Projection:
		return Wrong("{lora.encoder_hidden}: {lora.tuner} %s has no encoder; remove it", l.Tuner)
	case l.Tuner == PrefixTuning && s.Checkpointing:
		return PrefixRecomputed()
	case l.Tuner == PrefixTuning && s.Attention == Flash:
		return Wrong("{lora.tuner} prefix with {attention} flash is not simulated; choose {attention=sdpa}, or measure the run: snug profile -- <your command>")
	}
	return nil
}
