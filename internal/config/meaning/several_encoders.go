// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"

	"snug/internal/setup"
)

// An embedder may have one encoder for each text field of a record. Its config then has a number of encoders, but a model
// name stands for a single one.

// encoderCounts are the keys under which projects write how many encoders a model has.
var encoderCounts = []string{"channels", "num_channels", "n_channels", "encoders", "num_encoders", "n_encoders"}

// severalEncoders returns the note that the run's model is a single encoder, although the files of a run that compares
// texts set a number of them. In other runs, channels are the channels of an image.
func (r *Run) severalEncoders(run map[string]any) []string {
	model, _ := run["model"].(map[string]any)
	config, _ := model["config"].(map[string]any)
	whole := setup.Model{Config: config}
	if model["name"] == nil && config == nil || whole.RowsMeasured() || run["positives"] == nil && run["negatives"] == nil {
		return nil
	}
	for _, s := range r.SourcesRead() {
		for _, v := range s.OwnValues() {
			if n, ok := v.Value.Data.(int64); ok && n > 1 && slices.Contains(encoderCounts, v.Parts[len(v.Parts)-1]) {
				return []string{fmt.Sprintf("%s:%d: %s is %d, but one encoder is counted; if the model has %[4]d encoders, describe it in a setup with model_type multi-encoder (docs/setup.md)",
					s.File, v.Value.Line, v.Path, n)}
			}
		}
	}
	return nil
}
