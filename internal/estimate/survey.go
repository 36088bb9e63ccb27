// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"snug/internal/setup"
	"snug/internal/simulate"
)

// Survey learns what the script of a setup shows of its run.
func Survey(s *setup.Setup) (setup.Survey, error) { return simulate.Survey(s) }
