// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatterns holds patterns to the expressions that they search for.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, "args = SFTConfig(", startsSFT, parsesSFT, othersDefaults, startsPEFT, hfScript.Makes, trlScript.Makes)
}
