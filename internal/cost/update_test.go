// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"testing"

	"snug/internal/shadow/train"
)

// TestEveryOptimizerHasATime checks that every optimizer has its own row; without one it would be timed as AdamW.
func TestEveryOptimizerHasATime(t *testing.T) {
	for _, name := range train.OptimizerNames() {
		if _, ok := updates[name]; !ok {
			t.Errorf("%s has no row in updates", name)
		}
	}
}
