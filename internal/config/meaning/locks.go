// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/config/systems"
)

// Locks returns the settings that no plan may change.
func (r *Run) Locks() []systems.Lock {
	if b := r.quantizing(); b != nil && r.checkpointsInCode() {
		return []systems.Lock{{Setting: "checkpointing", Why: r.Primary.File + ": prepare_model_for_kbit_training turns checkpointing on, regardless of other keys"}}
	}
	var out []systems.Lock
	for _, b := range r.BindingsOf("noted") {
		if b.Key.Locks != nil && b.Value != nil && b.Value != "" {
			out = append(out, systems.Lock{Setting: b.Key.Locks.Setting, Why: fmt.Sprintf("%s: %s %s", b.Where(), b.Path, b.Key.Locks.Why)})
		}
	}
	return out
}
