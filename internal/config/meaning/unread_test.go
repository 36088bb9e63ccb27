// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestUnread checks that there is a note for each unread key that looks as if it affects memory, and none for
// others.
func TestUnread(t *testing.T) {
	const hf = "per_device_train_batch_size: 2\noutput_dir: o\nmodel_name_or_path: gpt2\n"
	for name, x := range map[string]struct{ file, text, note string }{
		"a tuner":            {"a.yaml", hf + "tuner_type: lora\n", "a.yaml:4: tuner_type lora is not read; no adapters are counted"},
		"a tuner of all":     {"a.yaml", hf + "tuner_type: full\n", ""},
		"a section":          {"a.yaml", "batch_size: 2\npeft_config: {kind: lokr, dim: 4}\n", "a.yaml:2: peft_config is not read; no adapters"},
		"adapters of LitGPT": {"a.yaml", "batch_size: 2\nlora_query: true\nlora_key: true\n", "a.yaml:2: lora_query, lora_key are not read; no adapters"},
		"turned off":         {"a.yaml", "batch_size: 2\nlora_query: false\nqat: null\nquantize: ''\n", ""},
		"bits":               {"a.yaml", hf + "quantize: bnb.nf4\n", "a.yaml:4: quantize bnb.nf4 is not read; weights are counted as unquantized"},
		"fp8":                {"a.yaml", hf + "fp8: true\n", "a.yaml:4: fp8 true is not read; its effect on memory is not counted"},
		"a length":           {"a.yaml", "batch_size: 2\nmax_seq_len: 64\nmax_input_length: 128\n", "a.yaml:3: max_input_length 128 is not read; 64 tokens per sample are assumed"},
		"the same length":    {"a.yaml", "batch_size: 2\nmax_seq_len: 64\nmax_input_length: 64\n", ""},
		"frozen":             {"a.sh", "python a.py --batch_size 2 --freeze_vit true\n", "a.sh:1: --freeze_vit true is not read; all weights are counted as trained"},
		"frozen anyway":      {"a.sh", "python a.py --batch_size 2 --freeze_vit true --lora_rank 8\n", ""},
		"a lone flag":        {"a.sh", "python a.py --batch_size 2 --use_lisa\n", "a.sh:1: --use_lisa is not read; all weights"},
		"a variable":         {"a.sh", "LORA_DIR=x\nFREEZE_ALL=1\npython a.py --batch_size 2\n", ""},
		"noted already":      {"a.yaml", hf + "finetuning_type: full\ntemplate: x\nuse_galore: true\ngalore_rank: 8\n", ""},
		"evaluation":         {"a.yaml", "batch_size: 2\neval: {max_length: 9, quantize: nf4}\n", ""},
		"a list":             {"a.yaml", hf + "unfrozen_layers: [head]\n", "a.yaml:4: unfrozen_layers is not read; all weights are counted as trained"},
		"no effect":          {"a.yaml", "per_device_train_batch_size: 2\nmax_length: 64\nlora_r: 8\n", "a.yaml:3: lora_r has no effect in TRL unless use_peft is on"},
		"on":                 {"a.yaml", "per_device_train_batch_size: 2\nmax_length: 64\nlora_r: 8\nuse_peft: true\n", ""},
		"no effect, by name": {"a.yaml", "base_model: gpt2\nmicro_batch_size: 2\nsequence_len: 64\nadapter:\nlora_r: 8\n", "a.yaml:5: lora_r has no effect in Axolotl unless adapter names them"},
		"bits of a tuner":    {"a.yaml", hf + "lora_rank: 8\ntrain_mode: qlora\n", "a.yaml:5: train_mode qlora is not read; weights are counted as unquantized"},
		"split":              {"a.yaml", hf + "device_map: auto\n", "a.yaml:4: device_map auto is not read; its effect on memory is not counted"},
		"a method's file":    {"a.yaml", hf + "spectrum_config_path: a/b.yaml\n", "a.yaml:4: spectrum_config_path a/b.yaml is not read; all weights are counted as trained"},
		"attention":          {"a.yaml", "batch_size: 2\nflash_attn: true\n", "a.yaml:2: flash_attn true is not read; sdpa attention is assumed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}})
			got := r.unread(r.Fields())
			has := slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, x.note) })
			if x.note == "" && len(got) > 0 || x.note != "" && (!has || len(got) != 1) {
				t.Errorf("got %q, want %q", got, x.note)
			}
		})
	}
}

// TestNamedOtherwise checks the notes on results named after another objective.
func TestNamedOtherwise(t *testing.T) {
	const hf = "per_device_train_batch_size: 2\nmodel_name_or_path: gpt2\n"
	for text, want := range map[string]string{
		hf + "output_dir: out/llama-dpo\n":                  "a.yaml:3: output_dir suggests dpo, which trains on pairs of answers",
		hf + "output_dir: dpo/llama-sft\n":                  "",
		hf + "output_dir: out/llama-dpo\nstage: sft\n":      "",
		hf + "output_dir: out\nhub_model_id: me/gpt2-kto\n": "a.yaml:4: hub_model_id suggests kto",
	} {
		got := opened(t, fstest.MapFS{"a.yaml": {Data: []byte(text)}}).namedOtherwise()
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// TestMissingReasons checks what is reported as missing, with the reason.
func TestMissingReasons(t *testing.T) {
	for name, x := range map[string]struct{ file, text, setting, say string }{
		"an unknown builder": {"a.yaml", "model: {_component_: torchtune.models.new.new_9b}\noptimizer: {_component_: torch.optim.AdamW}\nbatch_size: 2\n", "model",
			"a.yaml:1: torchtune.models.new.new_9b is not a model that snug knows"},
		"a variable":        {"a.sh", "python a.py --model_name_or_path $1 --batch_size 2\n", "model", "a.sh:1: --model_name_or_path is not known: argument 1 of the script has no default"},
		"none":              {"a.yaml", "batch_size: 2\n", "model", "no file names the model"},
		"a name at the top": {"a.yaml", "model: gpt2\nbatch_size: 2\n", "model", "a.yaml:1: model gpt2 is a name that snug knows; if you mean the published model, give --model gpt2"},
		"no rank":           {"a.yaml", "batch_size: 2\nuse_lora: true\n", "lora.rank", "a.yaml:2: use_lora turns adapters on, but no file sets their rank"},
		"a task":            {"a.sh", "swift sft --model gpt2 --task_type seq_cls --num_labels 2 --per_device_train_batch_size 2\n", "model.head", "a.sh:1: --task_type seq_cls: the run classifies samples"},
		"labels":            {"a.yaml", "batch_size: 2\nmodel_name: gpt2\nnum_labels: 3\n", "model.head", "a.yaml:3: num_labels: the run classifies samples"},
		"no optimizer":      {"a.yaml", "model: {_component_: torchtune.models.llama2.llama2_7b}\nbatch_size: 2\ntasks: [x]\n", Training, "a.yaml has no optimizer, so it does not train"},
		"images":            {"a.yaml", "batch_size: 2\nmodel_name: vit-b16\nnum_labels: 3\n", "model.head", ""},
		"its own groups":    {"a.yaml", "batch_size: 2\nmodel_name: gpt2\nloss_type: contrastive\nn_negatives: 2\n", "model.head", ""},
		"a loss over words": {"a.yaml", "batch_size: 2\nmodel_name: gpt2\nloss_type: infonce\n", "model.head", "a.yaml:3: loss_type infonce: the run compares texts by their embeddings"},
		"transformers' own": {"a.yaml", "batch_size: 2\noptimizer: adamw_torch_fused\n", "optimizer", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := opened(t, fstest.MapFS{x.file: {Data: []byte(x.text)}}).Missing()
			i := slices.IndexFunc(all, func(m Missing) bool { return m.Setting == x.setting })
			if x.say == "" && i >= 0 || x.say != "" && (i < 0 || !strings.HasPrefix(all[i].Say, x.say)) {
				t.Errorf("got %v, want %s: %q", all, x.setting, x.say)
			}
		})
	}
}

// TestProgramsSettings checks that a script's flags take precedence over the settings of the program it starts.
func TestProgramsSettings(t *testing.T) {
	const (
		run     = "torchrun --nproc_per_node 2 train.py --model_name gpt2 --batch_size 2\n"
		parsing = "p = argparse.ArgumentParser()\np.add_argument('--batch_size', default=8)\np.add_argument('--max_length', type=int, default=96)\n"
	)
	for name, x := range map[string]struct {
		program string
		setting string
		want    any
	}{
		"a default of argparse": {parsing, "seq", 96},
		"the script's own":      {parsing, "batch", 2},
		"a dataclass":           {"@dataclass\nclass Args:\n    batch_size: int = 1\n    max_length: int = field(default=72, metadata={'help': 'x'})\n", "seq", 72},
		"arguments in code":     {parsing + "a = TrainingArguments(bf16=True, gradient_checkpointing=True, output_dir='o')\n", "checkpointing", true},
		"adapters in code":      {parsing + "m = get_peft_model(m, LoraConfig(r=4, target_modules=['c_attn']))\n", "lora.rank", 4},
		"a precision in code":   {parsing + "a = TrainingArguments(bf16=True)\n", "precision", "amp-bf16"},
	} {
		t.Run(name, func(t *testing.T) {
			r := opened(t, fstest.MapFS{"run.sh": {Data: []byte(run)}, "train.py": {Data: []byte(x.program)}})
			if got := r.ValueOrDefault(x.setting); got != x.want {
				t.Errorf("%s is %v, want %v", x.setting, got, x.want)
			}
		})
	}
	r := opened(t, fstest.MapFS{"run.sh": {Data: []byte(run)}, "train.py": {Data: []byte("t = DPOTrainer(model=m)\n")}})
	if got := r.refused(); len(got) != 1 || !strings.HasPrefix(got[0].Say, "train.py:1: DPOTrainer trains on pairs") {
		t.Errorf("a program that creates a DPOTrainer: %v", got)
	}
	r = opened(t, fstest.MapFS{"run.sh": {Data: []byte(run)}, "train.py": {Data: []byte("m = AutoModelForSequenceClassification.from_pretrained(args.model_name)\n")}})
	if got := r.scriptModel(); got.Head != "sequence-classification" {
		t.Errorf("a program that loads a classifier: %+v", got)
	}
	const arguments = `{"model_name_or_path": "roberta-base", "per_device_train_batch_size": 24, "output_dir": "o"}`
	const reading = "p = HfArgumentParser((ModelArguments, TrainingArguments))\nm = AutoModelForSequenceClassification.from_pretrained(a.model_name_or_path)\n"
	files := fstest.MapFS{"args.json": {Data: []byte(arguments)}, "train.py": {Data: []byte(reading)}, "data.py": {Data: []byte("import json\n")}}
	r = opened(t, files)
	if got := r.scriptModel(); got.Head != "sequence-classification" {
		t.Errorf("a program that reads args.json and loads a classifier: %+v", got)
	}
	files["other.py"] = &fstest.MapFile{Data: []byte("p = HfArgumentParser(TrainingArguments)\n")}
	if got := opened(t, files).scriptModel(); got.Head != "" {
		t.Errorf("two programs that could read args.json: %+v", got)
	}
}

// TestAutocastOfOwnModel checks that a precision that a script computes is not said to be ignored if the script builds its
// own model: its autocast is followed, and --precision has no effect on it.
func TestAutocastOfOwnModel(t *testing.T) {
	const program = "import torch\namp = torch.cuda.is_available() and not a.no_mixed\nbatch_size = 4\nmodel = torch.nn.Linear(8, 8)\nloss.backward()\n"
	r := opened(t, fstest.MapFS{"main.py": {Data: []byte(program)}})
	fields := r.Fields()
	fields["loop"] = "main.py"
	for _, note := range r.Warnings(fields) {
		if strings.Contains(note, "computed at run time") {
			t.Error(note)
		}
	}
}
