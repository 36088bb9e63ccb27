// SPDX-License-Identifier: Apache-2.0

package script

// Limits beyond which a script is not followed. Limits on the iterations of a loop are in iterations.go and
// trainer_steps.go.
const (
	maxExpressions = 5_000_000  // expressions evaluated
	maxItems       = 2_000_000  // items in all lists, including freed ones
	maxSearched    = 20_000_000 // values searched for lists that contain themselves
	maxText        = 1 << 13    // bytes in a string built by the script
	maxJoined      = 1 << 20    // bytes in a string joined from a list, or made by replacing
	maxDepth       = 150        // nested calls
	unseenLength   = 1 << 20    // length of a tensor made from a list of unknown length; samples are cut from it
)

// maxStatements limits the statements run. Fuzzing lowers it.
var maxStatements = 400_000
