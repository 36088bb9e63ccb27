// SPDX-License-Identifier: Apache-2.0

// Package diagnose finds out why a run ran out of memory: from its output, from a memory snapshot, or from both.
//
// The path of the data: log.go reads a run's output, line by line, in UTF-8 or UTF-16 (utf16.go). It finds messages
// (message.go: message_torch.go for PyTorch's own, message_forms.go for all others), the tracebacks before them
// (traceback.go, traceback_styles.go) and the earlier steps (steps.go). held.go reads a snapshot: which tensors were
// alive at the end or at the peak (peak.go), which code allocated them (phase.go), and which of them grew in number;
// pieces.go shows how the reserved memory was divided, compare.go what changed between two snapshots, and retry.go
// replays a recording. verdict.go decides between the causes from all the evidence (rules_figures.go,
// rules_growth.go, rules_phase.go), numbers.go has a verdict's figures, and fixes.go lists what to do. page.go draws
// it all, with timeline.go and flame.go.
package diagnose
