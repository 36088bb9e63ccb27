// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"

	"snug/internal/setup"
)

// trlMinor returns the minor version of the installed TRL 1, 0 for earlier versions, or the table's version if
// TRL is not installed.
func (r *Run) trlMinor() (minor int) {
	if r.trl == "" {
		return 16
	}
	_, _ = fmt.Sscanf(r.trl, "1.%d", &minor) // leaves 0 for 0.29
	return minor
}

// lossByVersion sets which code computes the loss in the installed TRL. TRL introduced a chunked loss in 1.4,
// made it the default in 1.6, and has had its own kernels since 1.15.
func (r *Run) lossByVersion(out map[string]any) {
	minor, chunks := r.trlMinor(), r.Value("chunks")
	whole := chunks == "no" || chunks == nil && minor < 6 || minor < 4
	if out["loss"] == setup.TRLLoss && r.Trainer().UsesTRL && minor < 15 && whole {
		delete(out, "loss")
	}
}

// olderLoss returns the note that an older TRL computes its loss in chunks of a different size than simulated.
func (r *Run) olderLoss(run map[string]any) []string {
	if r.trlMinor() >= 15 || !r.Trainer().UsesTRL || run["loss"] != setup.TRLLoss {
		return nil
	}
	return []string{fmt.Sprintf("the installed TRL %s computes the loss in chunks of 256 tokens; it is counted as in TRL 1.16", r.trl)}
}
