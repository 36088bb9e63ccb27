// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatterns holds patterns to the expressions that they search for.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, `@hydra.main(config_name="x")`, hydraCall)
}
