// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/pattern"
)

// CompleteAdapters fills in PEFT's defaults of adapters that a script makes.
func (s *Setup) CompleteAdapters() error {
	if s.LoRA.Tuner == "" && len(s.LoRA.Targets) == 0 && s.Model.facts().LoRA == nil {
		return Wrong("PEFT has no default layers to adapt for %s; set target_modules", s.Model.Title())
	}
	return s.completeLoRA()
}

// completeLoRA fills in PEFT's defaults, from family/facts.go.
func (s *Setup) completeLoRA() error {
	l := s.LoRA
	if l == nil {
		return nil
	}
	switch {
	case l.Tuner != IA3 && len(l.Feedforward) > 0:
		return Wrong("{lora.feedforward} is for IA3; remove it, or set {lora.tuner=ia3}")
	case l.Tuner != OFT && l.Block > 0:
		return Wrong("{lora.oft_block_size} is for OFT; remove it, or set {lora.tuner=oft}")
	case !l.Prompts() && (l.Virtual > 0 || l.Encoder > 0 || l.Projection):
		return Wrong("{lora.virtual_tokens}, {lora.encoder_hidden} and {lora.prefix_projection} are for virtual tokens; remove them, or set {lora.tuner=prompt}, p-tuning or prefix")
	case l.Tuner != LoRATuner && l.Tuner != "":
		if err := s.completeTuner(); err != nil || l.Prompts() {
			return err
		}
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
