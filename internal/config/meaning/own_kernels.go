// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/pattern"
)

// unslothModel matches Unsloth's model loaders: FastModel, FastVisionModel, FastSentenceTransformer.
var unslothModel = pattern.New(`(?m)^[^#\n]*\b(Fast[A-Z]\w*)\.(?:from_pretrained|get_peft_model)\(`, ".from_pretrained(", ".get_peft_model(")

// ownKernels lists the call by which a script replaces a model's layers, adapters and loss with Unsloth's. These keep
// less for backward; how much less depends on the model and the version.
func (r *Run) ownKernels() []Missing {
	for _, s := range r.SourcesRead() {
		d := s.Tree.Layers[0].Doc
		if d.Format() != doc.Python {
			continue
		}
		if at := unslothModel.Index(d.Text()); at != nil {
			return []Missing{{Training, refusal(s.LineOf(d, at[2]), projects.Submatch(d, at, 1), "is Unsloth's, whose own kernels for layers, adapters and loss take less than transformers'")}}
		}
	}
	return nil
}
