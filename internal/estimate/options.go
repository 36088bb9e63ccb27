// SPDX-License-Identifier: Apache-2.0

package estimate

import "snug/internal/setup"

// Options returns the names of the groups of measured runs that a setup belongs to: the Evidence of each row in
// setup/table.go.
func Options(s *setup.Setup) []string { return setup.Evidence(s) }
