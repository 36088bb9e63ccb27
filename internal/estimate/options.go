// SPDX-License-Identifier: Apache-2.0

package estimate

import "snug/internal/setup"

// Options is what of a setup changes what is allocated, in words.
func Options(s *setup.Setup) []string { return setup.Evidence(s) }
