// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"snug/internal/pattern/patterntest"
)

// TestPatterns compares patterns with their regular expressions.
func TestPatterns(t *testing.T) {
	patterntest.FindAsExpressions(t, `@hydra.main(config_name="x")`, hydraCall)
}
