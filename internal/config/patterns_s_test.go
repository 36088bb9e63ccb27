// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatternsS holds patterns to the expressions that they search for.
func TestPatternsS(t *testing.T) {
	patterntest.FindAsExpressions(t, "args = SFTConfig(", startsSFT, parsesSFT, othersDefaults, startsPEFT, hfScript.Makes, trlScript.Makes)
}
