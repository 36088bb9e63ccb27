// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatternsM holds patterns to the expressions that they search for.
func TestPatternsM(t *testing.T) {
	patterntest.FindAsExpressions(t, "DPOTrainer(", patches, preparesAlone, prepares, computeArgument, newAdapters, otherClasses, otherPrograms)
}
