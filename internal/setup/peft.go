// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/family"
	"snug/internal/pattern"
)

// completeLoRA fills in PEFT's defaults, from family/facts.go.
func (s *Setup) completeLoRA() error {
	l := s.LoRA
	if l == nil {
		return nil
	}
	if l.Tuner == IA3 {
		if err := s.completeIA3(); err != nil {
			return err
		}
	}
	if l.Tuner != IA3 && len(l.Feedforward) > 0 {
		return Wrong("{lora.feedforward} is for IA3; remove it, or set {lora.tuner=ia3}")
	}
	if len(l.Targets) > 1 && slices.Contains(l.Targets, AllLinear) {
		others := slices.DeleteFunc(slices.Clone(l.Targets), func(t string) bool { return t == AllLinear })
		return Wrong("{lora.targets} combines %s with all-linear, which PEFT accepts only on its own; give all-linear, or list the names of all layers", spaced(others))
	}
	if len(l.Targets) == 0 {
		l.PEFT = true // only PEFT has default targets
		if l.Targets = s.Model.facts().LoRA; l.Targets == nil {
			return Wrong("{lora.targets} is empty, but PEFT has no defaults for %s; name the linear layers to adapt, such as q_proj and v_proj, or all-linear", s.Model.Title())
		}
	}
	return nil
}

// completeIA3 fills in PEFT's defaults for IA3, and refuses settings that it does not have.
func (s *Setup) completeIA3() error {
	l := s.LoRA
	l.PEFT = true
	switch {
	case l.Rank != 0:
		return Wrong("{lora.rank} is %d, but IA3 has no rank; remove it", l.Rank)
	case l.DoRA || l.Dropout != 0 || l.Alpha != 0:
		return Wrong("{lora.tuner} ia3 has neither {lora.dora}, {lora.dropout} nor {lora.alpha}; remove them")
	case s.Quantization != nil:
		return Wrong("{lora.tuner} ia3 over quantized weights is not simulated; remove {quantization.bits}, or measure the run: snug profile -- <your command>")
	case s.Dist != nil && s.DistKind() != DDP:
		return Wrong("{lora.tuner} ia3 with {dist.kind} %s is not simulated; choose {dist.kind=ddp}, or measure the run: snug profile -- <your command>", s.Dist.Kind)
	}
	if len(l.Targets) == 0 {
		targets, feedforward := family.IA3Layers(s.Model.Family())
		if targets == nil {
			return Wrong("{lora.targets} is empty, but PEFT has no defaults of IA3 for %s; name the layers to scale, and {lora.feedforward}", s.Model.Title())
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

// AdaptersMadeAt returns the line of a Python program that makes PEFT's adapters, or 0 if there is none.
func AdaptersMadeAt(text string) int {
	at := newAdapters.Index(text)
	if at == nil {
		return 0
	}
	return 1 + strings.Count(text[:at[1]], "\n")
}

var newAdapters = pattern.New(`(?m)^[^#\n]*\b(?:get_peft_model|LoraConfig)\(`, "get_peft_model(", "LoraConfig(")

// UncountedAdapters returns the note that the adapters of a program are not counted.
func UncountedAdapters(place string) string {
	return fmt.Sprintf("%s: adapters are created in code and not counted; give --lora-peft --lora-rank N, and --lora-targets", place)
}
