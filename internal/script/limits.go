// SPDX-License-Identifier: Apache-2.0

package script

// Limits on a script, beyond which it is not followed. How many iterations of a loop are followed is in
// turns.go and trainer_steps.go.
const (
	maxStatements  = 400_000    // statements run
	maxExpressions = 5_000_000  // expressions evaluated
	maxItems       = 2_000_000  // items of all lists together, including freed ones
	maxSearched    = 20_000_000 // values searched for lists that contain themselves
	maxText        = 1 << 13    // bytes of a string built by the script
	maxDepth       = 150        // nested calls
)
