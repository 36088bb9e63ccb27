// SPDX-License-Identifier: Apache-2.0

package estimate

import "snug/internal/setup"

// Options lists the settings of a setup that affect memory, for users.
func Options(s *setup.Setup) []string { return setup.Evidence(s) }
