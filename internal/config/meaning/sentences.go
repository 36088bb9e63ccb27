// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"snug/internal/config/doc"
	"snug/internal/pattern"
)

var (
	// sentenceModel matches the creation of a model or a trainer of sentence-transformers.
	sentenceModel = pattern.New(`(?m)^[^#\n]*?\b(?:SentenceTransformer|CrossEncoder|SparseEncoder)(?:Trainer)?\(`, "SentenceTransformer", "CrossEncoder", "SparseEncoder")
	// importsSentences matches the import of sentence-transformers.
	importsSentences = pattern.New(`(?m)^[ \t]*(?:from|import)[ \t]+sentence_transformers\b`, "sentence_transformers")
)

// followsSentences reports whether the run is a Python program that trains a model of sentence-transformers. The script
// itself shows its loss and its teacher, whatever its name suggests.
func (r *Run) followsSentences() bool {
	if r.Primary == nil {
		return false
	}
	d := r.Primary.Tree.Layers[0].Doc
	return d.Format() == doc.Python && importsSentences.In(d.Text()) && sentenceModel.In(d.Text())
}

// settleSentences removes the numbers of positives and negatives, because a program of sentence-transformers uses such
// numbers to mine negatives, or for an evaluation. The columns of its dataset show how many texts a sample has.
func (r *Run) settleSentences(out map[string]any) {
	if r.followsSentences() {
		delete(out, "positives")
		delete(out, "negatives")
	}
}
