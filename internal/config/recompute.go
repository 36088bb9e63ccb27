// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"slices"
)

// Checkpointing has two switches under accelerate's FSDP: the trainer's own, and
// fsdp_activation_checkpointing in accelerate's file. It is on where either is, and
// transformers' Trainer refuses to start where both are (5.22, trainer.py:
// create_accelerator_and_postprocess).

// switches is the keys of checkpointing: accelerate's, and all others.
func (p *Run) switches() (sharded, own []bound) {
	for _, b := range p.of("checkpointing") {
		if b.key.OfSharding {
			sharded = append(sharded, b)
		} else {
			own = append(own, b)
		}
	}
	return sharded, own
}

// yields is whether a key leaves the word to the trainer: accelerate's that is off.
func yields(b bound) bool {
	return b.Setting == "checkpointing" && b.key.OfSharding && b.Value != true
}

func isOn(of []bound) bool {
	return slices.ContainsFunc(of, func(b bound) bool { return b.Value == true })
}

// ownOn is whether the trainer's switch is on, by a file or by default.
func (p *Run) ownOn() bool {
	if _, own := p.switches(); len(own) > 0 {
		return first(own) == true
	}
	return p.byDefault("checkpointing") == true
}

// first is the first value of some keys that is any.
func first(of []bound) (v any) {
	for _, b := range of {
		v = later(v, b.Value)
	}
	return v
}

// twice is that both switches are on, which transformers' Trainer refuses.
func (p *Run) twice() []string {
	sharded, own := p.switches()
	system := p.system()
	if !isOn(sharded) || !p.ownOn() || !system.RefusesTwoSwitches {
		return nil
	}
	also := fmt.Sprintf("gradient_checkpointing, which is on by default in %s", system.Title)
	if len(own) > 0 {
		also = fmt.Sprintf("%s at %s", own[0].Path, own[0].where())
	}
	return []string{fmt.Sprintf("%s: %s is on, and so is %s: the trainer refuses to start with both, turn one off", sharded[0].where(), sharded[0].Path, also)}
}
