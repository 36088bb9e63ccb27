// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"snug/internal/files"
	"snug/internal/setup"
)

// Every input must have an effect: a value other than the default changes a figure, is refused, or is named in a
// note. The tests cover every field of a setup, every flag, and every key of every config system.

// fieldBase is a setup in which a field has an effect, as values by field name.
type fieldBase map[string]any

// with returns the base with more fields.
func (b fieldBase) with(more fieldBase) fieldBase {
	out := maps.Clone(b)
	maps.Copy(out, more)
	return out
}

var (
	plainBase  = fieldBase{"model.name": "gpt2", "batch": 2, "seq": 64, "steps": 2}
	modernBase = fieldBase{"model.name": "qwen2.5-0.5b", "batch": 2, "seq": 64, "precision": "amp-bf16", "steps": 2}
	llamaBase  = fieldBase{"model.name": "llama-3.2-1b", "batch": 2, "seq": 64, "precision": "bf16", "steps": 2}
	loraBase   = modernBase.with(fieldBase{"lora.rank": 8, "lora.targets": []string{"q_proj", "v_proj"}, "lora.peft": true})
	qloraBase  = loraBase.with(fieldBase{"quantization.bits": 4})
	shardBase  = modernBase.with(fieldBase{"dist.kind": "fsdp2", "dist.world": 4})
	visionBase = fieldBase{"model.name": "qwen2-vl-2b", "batch": 1, "seq": 64, "precision": "bf16", "steps": 2}
	evalBase   = modernBase.with(fieldBase{"evaluation.batch": 4, "evaluation.batches": 2})
)

// answersBase is a run with a loop that compares answers.
var answersBase = fieldBase{"model.name": "gpt2", "batch": 2, "seq": 64, "loop": "trl-dpo", "steps": 2}

// fieldBases are the bases of fields that need more than plainBase, by field name or prefix.
var fieldBases = []struct {
	field string
	base  fieldBase
}{
	{"weights", modernBase}, {"completion", answersBase}, {"reference", answersBase},
	{"loss", llamaBase}, {"unsloth", llamaBase}, {"liger", modernBase}, {"clip", modernBase},
	{"target_seq", fieldBase{"model.name": "t5-small", "batch": 2, "seq": 64, "steps": 2}},
	{"positives", fieldBase{"model.name": "bert-base", "model.head": "encoder", "batch": 4, "seq": 32}},
	{"negatives", fieldBase{"model.name": "bert-base", "model.head": "encoder", "batch": 4, "seq": 32}},
	{"choices", fieldBase{"model.name": "bert-base", "model.head": "multiple-choice", "batch": 4, "seq": 32}},
	{"model.head", fieldBase{"model.name": "bert-base", "batch": 4, "seq": 32}},
	{"seed", fieldBase{"model.name": "gpt2", "batch": 2, "steps": 2, "lengths": map[string]any{"uniform": []int{8, 512}}}},
	{"lora.virtual_tokens", plainBase.with(fieldBase{"lora.tuner": "prompt", "lora.virtual_tokens": 20})},
	{"lora.encoder_hidden", plainBase.with(fieldBase{"lora.tuner": "p-tuning", "lora.virtual_tokens": 20})},
	{"lora.oft_block_size", modernBase.with(fieldBase{"lora.tuner": "oft", "lora.targets": []string{"q_proj"}})},
	{"quantization.group_size", qloraBase.with(fieldBase{"quantization.method": "gptq"})},
	{"lora.", loraBase}, {"quantization.", qloraBase}, {"lora.peft", modernBase.with(fieldBase{"precision": "bf16", "lora.rank": 8, "lora.targets": []string{"q_proj"}})},
	{"quantization.prepare", qloraBase.with(fieldBase{"weights": "bf16"})}, {"quantization.cast_back", qloraBase.with(fieldBase{"weights": "bf16", "quantization.prepare": true})},
	{"dist.bucket_view", plainBase.with(fieldBase{"dist.kind": "ddp", "dist.world": 4})},
	{"dist.", shardBase},
	{"evaluation.", evalBase}, {"evaluation.batches", evalBase.with(fieldBase{"evaluation.keeps_logits": true})},
	{"evaluation.every", fieldBase{"model.name": "qwen2.5-0.5b", "batch": 2, "seq": 64, "steps": 3, "evaluation.batch": 16}},
	{"versions.bitsandbytes", qloraBase}, {"versions.peft", loraBase}, {"versions.trl", modernBase.with(fieldBase{"loss": "trl"})},
	{"accumulation", plainBase},
	{"resolution", fieldBase{"model.name": "stable-diffusion-v1-5", "batch": 1, "precision": "amp-fp16", "lora.rank": 4, "steps": 2}},
	{"images", visionBase}, {"freeze", visionBase}, {"image_size", visionBase.with(fieldBase{"images": 1, "image_size": 112})}, {"image_width", visionBase.with(fieldBase{"images": 1, "image_size": 56})},
	{"use_reentrant", fieldBase{"model.name": "bert-base", "model.head": "sequence-classification", "batch": 64, "seq": 128, "checkpointing": true}},
}

// fieldValues are the values to try for fields for which the kind does not suggest any.
var fieldValues = map[string][]any{
	"accumulation": {4}, "seq": {128}, "batch": {3}, "target_seq": {32}, "steps": {1}, "seed": {7}, "limit": {uint64(1 << 30)},
	"lengths": {[]int{16, 64}, map[string]any{"uniform": []int{8, 128}}}, "tokenizer": {"tokenizer.json"}, "allocator": {"expandable_segments:True", "max_split_size_mb:32"},
	"loop": {"script", "trainer"}, "positives": {1}, "negatives": {2}, "choices": {3}, "lora.rank": {64}, "lora.virtual_tokens": {8}, "lora.encoder_hidden": {64}, "lora.oft_block_size": {16}, "quantization.group_size": {32}, "lora.alpha": {32}, "lora.dropout": {0.1},
	"lora.targets": {[]string{"q_proj"}, []string{"all-linear"}}, "lora.save": {[]string{"embed_tokens"}}, "lora.feedforward": {[]string{"down_proj"}}, "dist.world": {8}, "unsloth": {[]string{"rope"}, []string{"norm"}}, "liger": {[]string{"all"}, []string{"rope"}, []string{"norm"}, []string{"mlp"}},
	"evaluation.batch": {16}, "evaluation.every": {1, 100}, "evaluation.batches": {8}, "quantization.bits": {8},
	"versions.torch": {"2.4", "2.12"}, "versions.transformers": {"4.45", "5.10"}, "versions.cuda": {"12.4"}, "versions.bitsandbytes": {"0.45"},
	"versions.peft": {"0.17"}, "versions.trl": {"1.15", "1.10", "0.29"}, "versions.accelerate": {"1.2"}, "completion": {16}, "reference": {"precomputed"},
	"resolution": {256}, "images": {1}, "image_size": {56}, "image_width": {112}, "freeze": {[]string{"vision"}, []string{"projector"}},
}

// impliedDefaults are the default values, in their bases, of fields that have no default in the table.
var impliedDefaults = map[string]any{
	"model.head": "masked-lm", "weights": "fp32", "loss": "model", "quantization.adapters": "fp32", "quantization.method": "bitsandbytes",
	"dist.param_dtype": "fp32", "dist.reduce_dtype": "fp32", "dist.load": "whole",
}

// baseOf returns the setup in which a field has an effect.
func baseOf(field string) fieldBase {
	base, longest := plainBase, 0
	for _, b := range fieldBases {
		if n := len(b.field); n > longest && (b.field == field || strings.HasSuffix(b.field, ".") && strings.HasPrefix(field, b.field)) {
			base, longest = b.base, n
		}
	}
	return base
}

// valuesOf returns the values to try for a field: all of its words, or values of its kind.
func valuesOf(x *setup.Setting, base fieldBase) []any {
	if values := fieldValues[x.Name]; values != nil {
		return values
	}
	var out []any
	switch x.Kind() {
	case setup.Word:
		for _, w := range x.Words {
			out = append(out, w)
		}
	case setup.Switch:
		out = []any{x.Default != true}
	}
	return slices.DeleteFunc(out, func(v any) bool { return v == base[x.Name] || v == x.Default || v == impliedDefaults[x.Name] })
}

// TestNoFieldDoesNothing checks that every field of a setup has an effect.
func TestNoFieldDoesNothing(t *testing.T) {
	for _, x := range setup.Settings() {
		base := baseOf(x.Name)
		values := valuesOf(x, base)
		if len(values) == 0 {
			t.Errorf("%s: no value to try", x.Name)
		}
		for _, v := range values {
			before, after := answerTo(t, base), answerTo(t, base.with(fieldBase{x.Name: v}))
			if why := after.idle(before, names(x)); why != "" {
				t.Errorf("%s %v: %s", x.Name, v, why)
			}
		}
	}
}

// names returns the names that a note may use for a field.
func names(x *setup.Setting) []string {
	out := []string{x.Name, x.Name[strings.LastIndex(x.Name, ".")+1:]}
	for _, f := range x.Flags {
		out = append(out, f.Name)
	}
	return out
}

// shownAnswer is the output of a command.
type shownAnswer struct {
	figures map[string]any
	notes   string
	refused string
}

// answerTo estimates a setup on a named card.
func answerTo(t *testing.T, of fieldBase) shownAnswer {
	t.Helper()
	fields := map[string]any{}
	for name, v := range of {
		setup.Put(fields, name, v)
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return shown(t, t.TempDir(), string(text), "estimate", "--setup", "-", "--gpu", "H200", "--json")
}

// shown runs a command that prints one JSON object, in a folder without an environment.
func shown(t *testing.T, folder, in string, args ...string) shownAnswer {
	t.Helper()
	t.Chdir(folder)
	var out, notes strings.Builder
	env := Env{Stdin: strings.NewReader(in), Stdout: &out, Stderr: &notes, Getenv: func(string) string { return "" }, Open: func(path string) (io.ReadCloser, error) { return files.OpenNamed(path) }}
	Run(context.Background(), env, args)
	a := shownAnswer{notes: notes.String()}
	if err := json.Unmarshal([]byte(out.String()), &a.figures); err != nil {
		t.Fatalf("%v: %v: %s%s", args, err, out.String(), notes.String())
	}
	a.refused, _ = a.figures["error"].(string)
	for _, name := range []string{"id", "notes", "interval", "evidence", "versions"} { // these describe the figures but are not figures
		delete(a.figures, name)
	}
	return a
}

// idle returns why a value did nothing; "" if it changed a figure, was refused, or is named in a note.
func (a shownAnswer) idle(before shownAnswer, names []string) string {
	switch {
	case before.refused != "":
		return "the base is refused: " + before.refused
	case a.refused != "" || !reflect.DeepEqual(a.figures, before.figures):
		return ""
	}
	for line := range strings.Lines(a.notes) {
		if !strings.Contains(before.notes, line) && slices.ContainsFunc(names, func(n string) bool { return strings.Contains(line, n) }) {
			return ""
		}
	}
	return fmt.Sprintf("it changes no figure, is not refused and not named in a note: %s", a.notes)
}
