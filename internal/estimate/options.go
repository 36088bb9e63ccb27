// SPDX-License-Identifier: Apache-2.0

package estimate

import "snug/internal/setup"

// Options lists the settings of a setup that change what is allocated, for people.
func Options(s *setup.Setup) []string { return setup.Evidence(s) }
