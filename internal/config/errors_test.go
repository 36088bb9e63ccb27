// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"snug/internal/config/configtest"
)

// TestOpenErrors checks that files that cannot be read give a clear, one-line error.
func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		named []string
		want  string
	}{
		{"nothing", nil, nil, "no training config found in .; name one with --config-path FILE, or write a snug.yaml: snug init"},
		{"no such file", nil, []string{"a.yaml"}, "reading a.yaml: file does not exist"},
		{"malformed", map[string]string{"a.yaml": "x: 1\nbatch_size: [1, 2\ny: 3\n"}, []string{"a.yaml"}, "a.yaml:"},
		{"not a config", map[string]string{"a.yaml": "x: 1\n"}, []string{"a.yaml"}, "a.yaml contains no setting that snug knows; bind one in snug.yaml: snug init"},
		{"flags only", map[string]string{"a.py": "parser = HfArgumentParser(\n    (ModelArguments, TrainingArguments)\n)\n"}, []string{"a.py"}, "a.py:1: the program takes its settings from flags (HfArgumentParser); name the shell script"},
		{"flags of another objective", map[string]string{"a.py": "import trl\nparser = TrlParser((ScriptArguments, DPOConfig))\n"}, []string{"a.py"}, "a.py:2: DPOConfig trains on pairs of answers"},
		{"a program that trains", map[string]string{"a.py": "import torch\nclass MyTrainer(Trainer):\n    pass\nloss.backward()\n"}, []string{"a.py"},
			"a.py:4: loss.backward trains a model here, but no file contains the batch; give --model NAME --batch N --seq N, or measure it: snug profile -- python3 a.py"},
		{"a program of another objective", map[string]string{"train_dpo.py": "import torch\n"}, []string{"train_dpo.py"}, "training: train_dpo.py: judging by its name (dpo), it trains on pairs of answers"},
		{"a script that passes nothing", map[string]string{"a.sh": "cd x\npython train.py --foo 1\n"}, []string{"a.sh"},
			"a.sh:2: train.py gets no batch here, and no file contains the batch; if it reads a config, name it: --config-path FILE, or give --model NAME --batch N --seq N"},
		{"a config in a here-document", map[string]string{"a.sh": "cat > conf/a.yaml <<EOF\nbatch_size: 2\nEOF\naxolotl train conf/a.yaml\n"}, []string{"a.sh"},
			"a.sh:1: the script writes conf/a.yaml itself, and that file is not here yet; run that part of the script once, and then name the file: --config-path conf/a.yaml"},
		{"a here-document before its file", map[string]string{"a.sh": "cd x\ncat <<'EOF' > a.json\n{}\nEOF\npython train.py a.json\n"}, []string{"a.sh"}, "a.sh:2: the script writes a.json itself"},
		{"a here-document that is only written", map[string]string{"a.sh": "cat > a.yaml <<EOF\nx: 2\nEOF\npython train.py\n"}, []string{"a.sh"}, "a.sh:4: train.py gets no batch here"},
		{"a script of fairseq", map[string]string{"a.sh": "fairseq-train data --arch transformer\n"}, []string{"a.sh"}, "training: a.sh:1: fairseq-train builds fairseq's own models; this is not estimated"},
		{"a script of another objective", map[string]string{"a.sh": "python train_dpo.py --foo 1\n"}, []string{"a.sh"}, "training: a.sh:1: train_dpo.py trains on pairs of answers"},
		{"a notebook", map[string]string{"a.ipynb": "{}"}, []string{"a.ipynb"}, "a.ipynb contains no setting that snug knows"},
		{"unknown kind", map[string]string{"a.ini": "batch_size=1\n"}, []string{"a.ini"}, "a.ini: not a kind of file that snug can edit"},
		{"a list", map[string]string{"a.yaml": "train:\n  batch_size: [4, 8]\n"}, []string{"a.yaml"},
			"a.yaml:2:15: train.batch_size is a list, but a whole number is expected (batch)"},
		{"a map", map[string]string{"a.json": `{"per_device_train_batch_size": {"a": 1}}`}, []string{"a.json"},
			"a.json:1:33: per_device_train_batch_size is a map, but a whole number is expected (batch)"},
		{"a word", map[string]string{"a.yaml": "per_device_train_batch_size: many\n"}, []string{"a.yaml"},
			"a.yaml:1:30: per_device_train_batch_size is a string, but a whole number is expected (batch)"},
		{"half a sample", map[string]string{"a.yaml": "per_device_train_batch_size: 2.5\n"}, []string{"a.yaml"},
			"a.yaml:1:30: per_device_train_batch_size is 2.5; a whole number is expected (batch)"},
		{"not a switch", map[string]string{"a.yaml": "per_device_train_batch_size: 2\nbf16: perhaps\n"}, []string{"a.yaml"},
			"a.yaml:2:7: bf16 is a string, but true or false is expected (precision)"},
		{"not a schedule", map[string]string{"a.yaml": "batch_size: 2\ngradient_accumulation: {scheduling: {0: x}}\n"}, []string{"a.yaml"},
			"a.yaml:2:41: gradient_accumulation.scheduling is not an accumulation schedule like {0: 4, 8: 2}"},
		{"two of a kind", map[string]string{"a.yaml": "batch_size: 2\n", "b.yaml": "batch_size: 3\n"}, nil,
			"there are several configs here: a.yaml, b.yaml; name the one to use: --config-path a.yaml"},
		{"a script that starts two", map[string]string{"run.sh": "swift sft a.yaml\nswift sft b.yaml\n", "a.yaml": "{model: gpt2, tuner_type: full}\n", "b.yaml": "{model: gpt2-xl, tuner_type: full}\n"}, []string{"run.sh"},
			"there are several configs here: run.sh starts a.yaml, b.yaml; name the one to use: --config-path a.yaml"},
		{"a circle", map[string]string{"config.yaml": "defaults: [_self_]\ndata: {batch_size: '${a}'}\na: ${b}\nb: ${a}\n"}, nil, "a forms a cycle: ${a}, ${b}"},
		{"nowhere", map[string]string{"config.yaml": "defaults: [_self_]\ndata: {batch_size: '${nope}'}\n"}, nil,
			"config.yaml:2:20: ${nope} names nope, which does not exist here; if another config includes this file, name that one"},
		{"defaults", map[string]string{"config.yaml": "defaults: [_self_, {data: a}]\n", "data/a.yaml": "defaults: 3\nbatch_size: 1\n"}, []string{"config.yaml"},
			"data/a.yaml:1:11: defaults contains a whole number, not a list"},
		{"circular defaults", map[string]string{"config.yaml": "defaults: [config]\n"}, nil, "no training config found in .; skipped: config.yaml: its defaults form a cycle"},
		{"snug.yaml key", map[string]string{"snug.yaml": "binds: {}\n"}, nil, `snug.yaml:1:8: unknown key "binds"; did you mean bind?`},
		{"snug.yaml setting", map[string]string{"snug.yaml": "bind: {batches: a.yaml#x}\n"}, nil, `snug.yaml:1:17: setting "batches" is not known; did you mean batch?`},
		{"snug.yaml place", map[string]string{"snug.yaml": "bind: {batch: a.yaml}\n"}, nil, `snug.yaml:1:15: "a.yaml" must have the form conf/config.yaml#data.batch_size`},
		{"snug.yaml file", map[string]string{"snug.yaml": "bind: {batch: a.yaml#x}\n"}, nil, "snug.yaml:1 binds batch to a.yaml: file does not exist"},
		{"snug.yaml path", map[string]string{"snug.yaml": "bind: {batch: a.yaml#x}\n", "a.yaml": "y: 1\n"}, nil, "snug.yaml:1 binds batch to a missing key: a.yaml:1:1: x is missing"},
		{"snug.yaml value", map[string]string{"snug.yaml": "set: {precision: bf17}\n"}, nil, `snug.yaml:1:18: precision "bf17" is not known; known: fp32, amp-bf16, amp-fp16, bf16, fp16`},
		{"snug.yaml list", map[string]string{"snug.yaml": "- a\n"}, nil, "snug.yaml:1:1: a snug.yaml must be a map with the keys model, files, bind, set and command, but this is a list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(files(c.files), ".", c.named...)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// TestOthersDoNotMatter checks that a named file can be read next to invalid ones, unless one is a stage of
// it.
func TestOthersDoNotMatter(t *testing.T) {
	of := map[string]string{"a.yaml": "batch_size: 2\n", "b.yaml": "batch_size: [1]\n", "c.yaml": "batch_size: 1\nbatch_size: 2\n", "d.yaml": "x: [\n"}
	if _, err := Open(files(of), ".", "a.yaml"); err != nil {
		t.Error(err)
	}
	of["stages/1.yaml"] = "n_negatives: [1]\n"
	_, err := Open(files(of), ".", "a.yaml")
	if want := "stages/1.yaml:1:14: n_negatives is a list, but a whole number is expected (negatives)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func files(of map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range of {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// TestChangeErrors checks that a change that is partly impossible is refused as a whole.
func TestChangeErrors(t *testing.T) {
	hfJSON := `{"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4, "deepspeed": "ds.json"}`
	for _, c := range []struct {
		name  string
		files map[string]string
		set   map[string]any
		want  string
	}{
		{"no such setting", map[string]string{"a.yaml": "batch_size: 2\n"}, map[string]any{"batches": 1}, `setting "batches" is not known; did you mean batch?`},
		{"zero", map[string]string{"a.yaml": "batch_size: 2\n"}, map[string]any{"batch": 0}, "batch is 0; it must be a whole number, at least 1"},
		{"no key", map[string]string{"a.yaml": "batch_size: 2\n"}, map[string]any{"checkpointing": true}, "no file sets checkpointing; bind it in snug.yaml"},
		{"no word", map[string]string{"a.yaml": "base_model: x\nmicro_batch_size: 1\nbf16: auto\n"}, map[string]any{"precision": "fp16"}, "a.yaml (Axolotl) has no key for precision fp16"},
		{"totals disagree", map[string]string{"a.json": hfJSON, "ds.json": `{"train_micro_batch_size_per_gpu": 4, "train_batch_size": 30}`},
			map[string]any{"batch": 2}, "ds.json:1: train_batch_size is 30, which is not a multiple of batch times accumulation (16); make them agree first"},
		{"worked out", map[string]string{"a.py": "batch_size = 4\nblock_size = 8\ngradient_accumulation_steps = per_gpu * 8\n"},
			map[string]any{"accumulation": 10}, "a.py:3: gradient_accumulation_steps is per_gpu * 8, which is computed at run time; write 10 there yourself"},
		{"computed", map[string]string{"config.yaml": "defaults: [_self_]\ndata: {batch_size: '${oc.env:BATCH,4}'}\n"},
			map[string]any{"batch": 2}, "config.yaml:2: data.batch_size is ${oc.env:BATCH,4}, which cannot be changed in place; write a number there first"},
		{"effective", map[string]string{"a.yaml": "batch_size: 6\naccumulation_steps: 2\n"}, map[string]any{"effective": 20}, "the effective batch of 20 is not a multiple of 6"},
		{"clip", map[string]string{"a.yaml": "batch_size: 6\nmax_grad_norm: 1.0\n"}, map[string]any{"clip": false}, "a.yaml:2: **.max_grad_norm is a number (1.0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Open(files(c.files), ".")
			if err != nil {
				t.Fatal(err)
			}
			plan, err := p.Change(configtest.Values(c.set))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v %+v\nwant %s", err, plan, c.want)
			}
		})
	}
}

// TestAliases checks that an edit of a value changes the aliases of it too, and is refused if an alias is
// another setting.
func TestAliases(t *testing.T) {
	for _, c := range []struct{ text, note, refused string }{
		{"batch_size: &n 4\nval_batch: *n\n", "a.yaml:2: val_batch takes its value from batch_size and changes with it", ""},
		{"batch_size: &n 4\naccumulation_steps: *n\n", "", "a.yaml:1: batch_size sets both batch and accumulation, and snug would change both; write 2 for batch yourself"},
		{"data: &d {batch_size: 4}\nmore: *d\n", "", "a.yaml:1:23: data.batch_size is shared with other places: more (line 2) would change too"},
	} {
		before := files(map[string]string{"a.yaml": c.text})
		p, err := Open(before, ".", "a.yaml")
		if err != nil {
			t.Fatal(err)
		}
		plan, err := p.Change(configtest.Values(map[string]any{"batch": 2}))
		if err == nil {
			_, err = configtest.Applied(before, plan.Edits, plan.Creates)
		}
		if c.note != "" && !slices.Contains(plan.Notes, c.note) {
			t.Errorf("%q: notes are %q, want %q", c.text, plan.Notes, c.note)
		}
		if fmt.Sprint(err) != cmp.Or(c.refused, "<nil>") {
			t.Errorf("%q: error is %v, want %q", c.text, err, c.refused)
		}
	}
}
