// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatternsC holds patterns to the expressions that they search for.
func TestPatternsC(t *testing.T) {
	patterntest.FindAsExpressions(t, `@hydra.main(config_name="x")`, hydraCall)
}
