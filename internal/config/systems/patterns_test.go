// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatterns compares patterns with their regular expressions.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, "args = SFTConfig(", startsSFT, parsesSFT, othersDefaults, startsPEFT, hfScript.Makes, trlScript.Makes)
}
