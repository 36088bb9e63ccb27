// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatterns holds patterns to the expressions that they search for.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, "DPOTrainer(", patchesLiger, preparesAlone, prepares, computeArgument, newAdapters, otherClasses, otherPrograms)
}
