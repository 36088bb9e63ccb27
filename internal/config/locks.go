// SPDX-License-Identifier: Apache-2.0

package config

import "fmt"

// Lock is a setting that has to stay as it is, because of another.
type Lock struct{ Setting, Why string }

// inBackward is torchtune's key for a step within backward. A gradient is gone as
// soon as it is used, so that its recipes refuse to accumulate any (torchtune 0.6.1,
// recipes/full_finetune_single_device.py).
const inBackward = "optimizer_in_bwd"

// Locks is the settings that no plan may change.
func (p *Project) Locks() []Lock {
	if b := p.quantizing(); b != nil && p.checkpointsInCode() {
		return []Lock{{"checkpointing", p.main.file + ": prepare_model_for_kbit_training turns checkpointing on, whatever other keys say"}}
	}
	for _, b := range p.of("noted") {
		if b.key.Path == inBackward && b.source.adapter == &torchtune && b.Value != nil && b.Value != "" {
			return []Lock{{"accumulation", fmt.Sprintf("%s: %s is on, with which torchtune accumulates nothing", b.where(), b.Path)}}
		}
	}
	return nil
}

// unlocked refuses what the run would not start with, or not do.
func (c *changing) unlocked() error {
	for _, l := range c.project.Locks() {
		v := c.want.Get(l.Setting)
		if n, _ := v.(int); n > 1 || v == false {
			return fmt.Errorf("%s: %s cannot be %v", l.Why, l.Setting, v)
		}
	}
	return nil
}
