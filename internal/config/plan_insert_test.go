// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// A type of the weights goes into a file that names the model, as scripts with
// arguments for it have. TrainingArguments alone would refuse the key.
func TestWeightsAreInsertedBesideTheModel(t *testing.T) {
	const training = "per_device_train_batch_size: 2\nbf16: true\noutput_dir: out\n"
	for text, want := range map[string]string{
		training + "model_name_or_path: gpt2\n": "",
		training:                                "a.yaml (Hugging Face TrainingArguments) has no key for weights fp32",
	} {
		p, err := Open(fstest.MapFS{"a.yaml": {Data: []byte(text)}}, ".")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := p.Change(map[string]any{"weights": "fp32"}); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s-want +got:\n%s", text, diff)
		}
	}
}
