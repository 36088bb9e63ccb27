// SPDX-License-Identifier: Apache-2.0

package script

// Bounds on what a script may do before following it is given up.
const (
	maxStatements  = 400_000   // that are run
	maxExpressions = 5_000_000 // that are evaluated
	maxItems       = 2_000_000 // of all lists together, including those that are gone
	maxText        = 1 << 13   // bytes of a string that is put together
	maxDepth       = 150       // calls within calls
)
