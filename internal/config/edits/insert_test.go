// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"snug/internal/config/configtest"
)

// The type of the weights is inserted only into a file that names the model, because its script then has
// model arguments. TrainingArguments alone would refuse the key.
func TestWeightsAreInsertedBesideTheModel(t *testing.T) {
	const training = "per_device_train_batch_size: 2\nbf16: true\noutput_dir: out\n"
	for text, want := range map[string]string{
		training + "model_name_or_path: gpt2\n": "",
		training:                                "a.yaml (Hugging Face TrainingArguments) has no key for weights fp32",
	} {
		p := opened(t, fstest.MapFS{"a.yaml": {Data: []byte(text)}})
		got := ""
		if _, err := New(p, configtest.Values(map[string]any{"weights": "fp32"})); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s-want +got:\n%s", text, diff)
		}
	}
}

// Missing settings of a script that creates TrainingArguments are added as arguments of the call.
func TestArgumentsAreInserted(t *testing.T) {
	const before = "m = f(batch_size=2)\nargs = TrainingArguments(\n    per_device_train_batch_size=4,\n    bf16=True,\n)\ntrainer = Trainer(m, args=args)\n"
	const want = "m = f(batch_size=2)\nargs = TrainingArguments(\n    per_device_train_batch_size=2,\n    bf16=False,\n" +
		"    gradient_accumulation_steps=2,\n    fp16=True,\n    gradient_checkpointing=True,\n    optim=\"adamw_torch\",\n)\ntrainer = Trainer(m, args=args)\n"
	files := fstest.MapFS{"t.py": {Data: []byte(before)}}
	p := opened(t, files)
	plan, err := New(p, configtest.Values(map[string]any{"batch": 2, "accumulation": 2, "precision": "amp-fp16", "checkpointing": true, "optimizer": "adamw"}))
	if err != nil {
		t.Fatal(err)
	}
	after, err := configtest.Applied(files, plan.Edits, plan.Creates)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(after["t.py"].Data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := New(p, configtest.Values(map[string]any{"attention": "sdpa"})); err == nil {
		t.Error("attention was written to TrainingArguments, which does not have it")
	}
}

// A stage alone is not a DeepSpeed config: if there is no config, none is added.
func TestStageIsNotInserted(t *testing.T) {
	for name, text := range map[string]string{
		"a.yaml": "per_device_train_batch_size: 2\noutput_dir: out\nmodel_name_or_path: gpt2\ndeepspeed:\n  bf16: {enabled: auto}\n",
		"t.py":   "args = TrainingArguments(per_device_train_batch_size=4, deepspeed=None)\n",
	} {
		p := opened(t, fstest.MapFS{name: {Data: []byte(text)}})
		if plan, err := New(p, configtest.Values(map[string]any{"dist.kind": "zero2"})); err == nil {
			t.Errorf("%s: a stage was written: %v", name, plan)
		}
	}
}

// A flag is not added to a command if the program's own parser does not declare it, because the run would not
// start.
func TestFlagsOfOwnParser(t *testing.T) {
	const parser = "from transformers import Trainer, TrainingArguments\np.add_argument('--per_device_train_batch_size', type=int)\np.add_argument(\"--bf16\", action=\"store_true\")\n"
	p := opened(t, fstest.MapFS{
		"run.sh":   {Data: []byte("python train.py --model_name_or_path gpt2 --per_device_train_batch_size 4\n")},
		"train.py": {Data: []byte(parser)},
	})
	if _, err := New(p, configtest.Values(map[string]any{"precision": "amp-bf16"})); err != nil {
		t.Error(err)
	}
	const want = "run.sh does not set accumulation, and train.py declares no flag for it; add --gradient_accumulation_steps 2 to both, or bind it in snug.yaml"
	if plan, err := New(p, configtest.Values(map[string]any{"accumulation": 2})); err == nil || err.Error() != want {
		t.Errorf("got %+v, %v; want %s", plan, err, want)
	}
}
