// SPDX-License-Identifier: Apache-2.0

// Package diagnose says why a run ran out of memory: from the text that it printed, from a memory snapshot, or from
// both.
//
// The path of the data: log.go reads the output of a run, line by line, in UTF-8 or UTF-16 (utf16.go). It finds messages
// (message.go: message_torch.go for PyTorch's own, message_forms.go for all others), the tracebacks that they end
// (traceback.go, traceback_styles.go) and the steps before them (steps.go). held.go reads a snapshot: which tensors were
// alive at the end or at the peak (peak.go), who made them (phase.go), and which of them grew in number; pieces.go says how
// the reserved memory was divided, compare.go what changed between two snapshots, and retry.go plays a recording again.
// verdict.go decides between the causes from the evidence of both (rules_figures.go, rules_growth.go, rules_phase.go), numbers.go
// has the figures of a verdict, and fixes.go says what to do. page.go draws it all, with timeline.go and flame.go.
package diagnose
