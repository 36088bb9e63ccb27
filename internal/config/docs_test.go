// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/catalog"
	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

const docsFile = "../../docs/configs.md"

// TestDocs keeps docs/configs.md in step with the tables.
func TestDocs(t *testing.T) {
	want := documentation()
	if *update {
		if err := os.WriteFile(docsFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(docsFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/configs.md is out of date; go test ./internal/config -run TestDocs -update\n%s", diff)
	}
}

func documentation() []byte {
	intro, err := os.ReadFile("testdata/configs.md")
	if err != nil {
		panic(err)
	}
	b := bytes.NewBuffer(intro)
	for _, a := range systems.All() {
		fmt.Fprintf(b, "\n### %s\n\n", a.Title)
		if a.Makes != nil && a.Commands != nil && a.For != nil {
			fmt.Fprintf(b, "`%s`. Takes the keys of %s as flags, with the same defaults, and the flags of launchers.\n", a.Name, a.For.Title)
			continue
		}
		if a.Makes != nil && a.For != nil {
			fmt.Fprintf(b, "`%s`. Takes the arguments of %s, at any depth and with the same defaults,\nor else well-known names. The model is the one that it loads (`from_pretrained`) or passes to its trainer.\n", a.Name, a.For.Title)
			continue
		}
		if a.Makes != nil && formats(a) != "python" {
			fmt.Fprintf(b, "`%s` in %s. Recognized by the program that the script starts, or by flags that only this program has.\n\n", a.Name, formats(a))
		} else if len(a.Signs) > 0 {
			fmt.Fprintf(b, "`%s` in %s. Recognized by: %s.\n\n", a.Name, formats(a), signs(a))
		} else {
			fmt.Fprintf(b, "`%s` in %s. Recognized by any of the keys below for batch, accumulation, positives or negatives.\n\n", a.Name, formats(a))
		}
		fmt.Fprintf(b, "| setting | key | value | default | source |\n| --- | --- | --- | --- | --- |\n")
		for _, row := range rows(a) {
			fmt.Fprintln(b, row)
		}
	}
	return b.Bytes()
}

// rows returns one line per key; keys that differ only in spelling share a line.
func rows(a *systems.System) []string {
	var out []string
	for i := 0; i < len(a.Keys().All); i++ {
		k := a.Keys().All[i]
		paths := []string{"`" + k.Path + "`"}
		if k.Path == "" {
			paths[0] = "(always)"
		}
		for i+1 < len(a.Keys().All) && alike(k, a.Keys().All[i+1]) {
			i++
			paths = append(paths, "`"+a.Keys().All[i].Path+"`")
		}
		out = append(out, fmt.Sprintf("| %s | %s | %s | %s | %s |", k.Setting, strings.Join(paths, ", "), holdsText(k), code(k.Default), k.Source))
		if b := k.Beside; b != nil {
			at := k.Path[:strings.LastIndex(k.Path, ".")+1] + b.Path
			out = append(out, fmt.Sprintf("| its kernel | `%s` | %s | %s | %s |", at, holdsText(*b), code(b.Default), b.Source))
		}
	}
	return out
}

func alike(a, b systems.Key) bool {
	return a.Setting == b.Setting && a.Kind == b.Kind && a.Means == b.Means && a.Inverted == b.Inverted &&
		a.Default == b.Default && a.Then == b.Then && a.Source == b.Source && a.Beside == b.Beside &&
		slices.Equal(a.Words, b.Words) && slices.Equal(a.Reads, b.Reads)
}

func holdsText(k systems.Key) string {
	text := string(k.Kind)
	switch {
	case k.OnlyNoted():
		text = unsimulatedText(k)
	case k.Kind == systems.Switch && k.Means != "":
		text = "true means " + k.Means
	case k.Inverted:
		text += ", inverted"
	case k.Kind == systems.Word && len(k.Words) == 0:
		text = "a name (read only)"
	case k.Kind == systems.Word && len(k.Words) > 13:
		text = "a name"
	case k.Kind == systems.Word:
		var words []string
		for _, w := range k.Words {
			words = append(words, fmt.Sprintf("%s → %s", quoted(w.File), quoted(w.Means)))
		}
		text = strings.Join(words, ", ")
	}
	if k.Unit != "" {
		text += ": " + k.Unit
	}
	return text
}

// unsimulatedText describes what a key does if it sets nothing that is simulated. Words with the same effect
// are listed together.
func unsimulatedText(k systems.Key) string {
	is := map[systems.Kind]string{systems.Above1: "above 1", systems.Present: "any value", systems.Above0: "above 0", systems.Switch: "true", systems.Word: "any other"}[k.Kind]
	var parts, done []string
	for _, w := range k.Words {
		if w.Means == "" || slices.Contains(done, w.Means) {
			continue
		}
		done = append(done, w.Means)
		var words []string
		for _, o := range k.Words {
			if o.Means == w.Means {
				words = append(words, o.File)
			}
		}
		parts = append(parts, strings.Join(words, ", ")+": "+w.Means)
	}
	switch {
	case k.Means != "":
		parts = append(parts, is+": "+k.Means)
	case len(parts) == 0:
		parts = append(parts, string(k.Kind))
	}
	return strings.Join(parts, "; ")
}

func quoted(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

func formats(a *systems.System) string {
	var out []string
	for _, f := range a.Formats {
		out = append(out, string(f))
	}
	return strings.Join(out, ", ")
}

func signs(a *systems.System) string {
	var out []string
	for _, s := range a.Signs {
		keys := strings.Fields(s)
		last := len(keys) - 1
		text := "`" + keys[last] + "`"
		if last > 0 {
			text = "`" + strings.Join(keys[:last], "`, `") + "` and " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// TestTables checks that the tables are valid.
func TestTables(t *testing.T) {
	known := append(systems.SettingNames(), "lora", "lora.linear", "autocast", "kernels", "plugins", "liger.rope", "liger.norm", "liger.mlp", "liger.loss", "chunks", "lora.mlp", "lora.output", "lora.query", "lora.key", "lora.value", "lora.projection", "uncounted", "quantized", "quant_method", "refused", "noted", "link", "nodes", "visible", "uncast", "dist.mixed", "image", "reference", "image.pixels", "image.tiles", "freeze.vision", "freeze.projector", "freeze.language",
		"allocator", "target_seq", "eval.batch", "eval.when", "dist.version", "dist.reshard", "shape.n_layer", "shape.n_head", "shape.n_embd", "shape.dropout", "shape.bias", "shape.dataset")
	for _, a := range systems.All() {
		if a.Name == "" || a.Title == "" || len(a.Formats) == 0 {
			t.Errorf("%q: an adapter has a name, a title and formats", a.Name)
		}
		for _, k := range a.Keys().All {
			where := a.Name + " " + k.Path
			if k.Source == "" || k.Kind == "" || !slices.Contains(known, k.Setting) {
				t.Errorf("%s: source %q, kind %q, setting %q", where, k.Source, k.Kind, k.Setting)
			}
			if k.Path == "" && k.Default == "" {
				t.Errorf("%s: a setting without a key needs a default, and has none", where)
			}
			if k.Path != "" && !strings.Contains(k.Path, "*") {
				if _, err := doc.ParsePath(k.Path); err != nil {
					t.Errorf("%s: %v", where, err)
				}
			}
			if k.Default != "" && projects.Default(&k, 1) == nil && k.Default != "auto" && k.Default != "-1" && k.Default != "false" && k.Default != "selective" {
				t.Errorf("%s: the table cannot read its default %q", where, k.Default)
			}
			checkWords(t, where, k)
		}
	}
}

// checkWords checks that a setup accepts the meaning of every word.
func checkWords(t *testing.T, where string, k systems.Key) {
	t.Helper()
	allowed := map[string][]string{
		"precision": setup.Precisions, "attention": setup.Attentions, "dist.kind": setup.DistKinds, "dist.load": setup.Loads,
		"checkpointing": {"true", "false"}, "lora": {"true", "false"}, "dist.param_dtype": {"fp32", "bf16", "fp16"},
		"weights": setup.WeightTypes, "autocast": setup.Precisions,
	}
	for _, w := range append(k.Words, systems.Term{Means: k.Means}) {
		if w.Means == "" {
			continue
		}
		if k.Setting == "model" {
			if catalog.Find(w.Means) == nil {
				t.Errorf("%s: %s means %s, which is not built in", where, w.File, w.Means)
			}
			continue
		}
		if words, ok := allowed[k.Setting]; ok && !slices.Contains(words, w.Means) {
			t.Errorf("%s: %s means %s, which no setup accepts", where, w.File, w.Means)
		}
		if k.Setting == "optimizer" {
			if s, _ := systems.SettingNamed("optimizer"); s.Check(w.Means) != nil {
				t.Errorf("%s: %v", where, s.Check(w.Means))
			}
		}
	}
}
