// SPDX-License-Identifier: Apache-2.0

package config

import "fmt"

// Locks is the settings that no plan may change.
func (p *Run) Locks() []Lock {
	if b := p.quantizing(); b != nil && p.checkpointsInCode() {
		return []Lock{{"checkpointing", p.main.file + ": prepare_model_for_kbit_training turns checkpointing on, whatever other keys say"}}
	}
	for _, b := range p.of("noted") {
		if b.key.Locks != nil && b.Value != nil && b.Value != "" {
			return []Lock{{b.key.Locks.Setting, fmt.Sprintf("%s: %s %s", b.where(), b.Path, b.key.Locks.Why)}}
		}
	}
	return nil
}
