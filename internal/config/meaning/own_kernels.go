// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"strings"

	"snug/internal/pattern"
)

// unslothModel matches Unsloth's model loaders: FastModel, FastVisionModel, FastSentenceTransformer.
var unslothModel = pattern.New(`(?m)^[^#\n]*\b(Fast[A-Z]\w*)\.(?:from_pretrained|get_peft_model)\(`, ".from_pretrained(", ".get_peft_model(")

// ownLayers matches the import of a library that has its own layers and sharding.
var ownLayers = pattern.New(`(?m)^[ \t]*(?:from|import)[ \t]+(bmtrain|model_center|colossalai)\b`, "bmtrain", "model_center", "colossalai")

// bottleneckAdapters matches the classes of the adapters library (adapter-transformers), whose models have adapters and
// heads that are added by name.
var bottleneckAdapters = pattern.New(`(?m)^[^#\n]*\b(\w*AdapterModel\.from_pretrained|\w*AdapterTrainer\b)`, "AdapterModel", "AdapterTrainer")

// kernels are the libraries with their own layers, and what that means.
var kernels = []struct {
	call *pattern.Pattern
	does string
}{
	{unslothModel, "is Unsloth's; its kernels for layers, adapters and loss need less memory than those of transformers"},
	{bottleneckAdapters, "belongs to the adapters library, which has its own adapters and heads"},
	{ownLayers, "has its own layers and its own sharding"},
}

// ownKernels lists the call by which a script replaces a model's layers, adapters and loss with Unsloth's. These keep
// less for backward; how much less depends on the model and the version.
func (r *Run) ownKernels() []Missing {
	for _, s := range r.SourcesRead() {
		for _, p := range r.ExecutedPrograms(s) {
			for _, k := range kernels {
				if !k.call.In(p.Text) {
					continue
				}
				if at := k.call.Index(p.Code()); at != nil {
					class, _, _ := strings.Cut(p.Text[at[2]:at[3]], ".")
					return []Missing{*refusedIn(p, at[2], class, k.does)}
				}
			}
		}
	}
	return nil
}
