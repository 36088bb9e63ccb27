// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/setup"
	"snug/internal/simulate"
)

// Survey returns what a setup's script shows about its run.
func Survey(s *setup.Setup) (setup.Survey, error) { return simulate.Survey(s) }
