// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"testing"
	"testing/fstest"
)

// TestSentencePrograms checks that a program of sentence-transformers is not refused because of its name, and that the
// number of negatives that it mines is not taken for the texts of a sample. Other programs are.
func TestSentencePrograms(t *testing.T) {
	const sentences = `from sentence_transformers.cross_encoder import CrossEncoder
num_negatives = 5
model = CrossEncoder("bert-base-uncased")
args = CrossEncoderTrainingArguments(per_device_train_batch_size=4)
`
	for name, x := range map[string]struct {
		text    string
		follows bool
	}{
		"a cross-encoder": {sentences, true},
		"another program": {"import torch\nnum_negatives = 5\nargs = Arguments(per_device_train_batch_size=4)\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, fstest.MapFS{"train_kd.py": {Data: []byte(x.text)}})
			if got := r.Fields()["negatives"] == nil; got != x.follows {
				t.Errorf("negatives are %v", r.Fields()["negatives"])
			}
			if got := len(r.otherObjective()) == 0; got != x.follows {
				t.Errorf("its objective: %v", r.otherObjective())
			}
		})
	}
}
