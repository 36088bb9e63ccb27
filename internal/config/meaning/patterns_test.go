// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatterns compares patterns with their regular expressions.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, "DPOTrainer(", patchesLiger, preparesAlone, prepares, computeArgument, madeClass, parsedClass, trainsTokens, trains)
}
