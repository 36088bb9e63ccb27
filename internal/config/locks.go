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
	for _, b := range p.of("noted") {
		if b.key.Path == inBackward && b.source.adapter == &torchtune && b.Value != nil && b.Value != "" {
			return []Lock{{"accumulation", fmt.Sprintf("%s: %s is on, with which torchtune accumulates nothing", b.where(), b.Path)}}
		}
	}
	return nil
}

// accumulates refuses an accumulation that the run would not start with.
func (c *changing) accumulates() error {
	n, asked := c.want["accumulation"].(int)
	if locks := c.project.Locks(); asked && n > 1 && len(locks) > 0 {
		return fmt.Errorf("%s: accumulation cannot be %d", locks[0].Why, n)
	}
	return nil
}
