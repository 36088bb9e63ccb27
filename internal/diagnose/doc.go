// SPDX-License-Identifier: Apache-2.0

// Package diagnose says why a run ran out of memory: from the text that it printed, from a memory snapshot, or from
// both.
//
// The path of the data: log.go reads the output of a run, finds the message (message.go) with its
// traceback (traceback.go) and the steps before it (steps.go); held.go reads a snapshot: which tensors
// were alive, who made them, and which of them grew in number. verdict.go decides between the causes
// from the evidence of both, and fixes.go says what to do.
package diagnose
