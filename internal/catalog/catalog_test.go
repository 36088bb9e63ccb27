// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"llama-3.2-1b":                       "llama-3.2-1b",
		"meta-llama/Llama-3.2-1B":            "llama-3.2-1b",
		"bert-base-uncased":                  "bert-base",
		"meta-llama/Llama-3.2-1B-Instruct":   "meta-llama/Llama-3.2-1B-Instruct",
		"llama-3.2-1b-instruct":              "meta-llama/Llama-3.2-1B-Instruct",
		"distilgpt2":                         "distilbert/distilgpt2",
		"mistralai/mistral-7b-instruct-v0.2": "mistralai/Mistral-7B-Instruct-v0.2",
	} {
		if e := Find(name); e == nil || e.Name != want {
			t.Errorf("%s is %+v, want %s", name, e, want)
		}
	}
	if e := Find("llama-4-1b"); e != nil {
		t.Errorf("llama-4-1b does not exist, but %s was found", e.Name)
	}
}

// TestVariant checks that a variant has its own values and the original keeps its own.
func TestVariant(t *testing.T) {
	if got := Find("google-bert/bert-base-cased").Config["vocab_size"]; got != 28996.0 {
		t.Errorf("the cased vocabulary has %v words", got)
	}
	if got := Find("bert-base").Config["vocab_size"]; got != 30522.0 {
		t.Errorf("the uncased vocabulary has %v words", got)
	}
	if got, is := Find("mistralai/Mistral-7B-Instruct-v0.2").Config["sliding_window"]; got != nil || !is {
		t.Errorf("Mistral's second version has a window of %v", got)
	}
}

// TestEachIsFoundByItsNames checks that the names extracted from each line equal those that a JSON decoder reads.
func TestEachIsFoundByItsNames(t *testing.T) {
	for _, e := range all() {
		for _, name := range []string{e.Name, e.Hub} {
			if diff := cmp.Diff(&e, Find(name)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", name, diff)
			}
		}
	}
}

func TestNamesOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range all() {
		for _, name := range []string{e.Name, e.Hub} {
			if seen[name] && e.Name != e.Hub {
				t.Errorf("%s occurs twice", name)
			}
			seen[name] = true
		}
	}
}

// all returns the whole list, including the variants.
func all() []Entry {
	var out []Entry
	for _, m := range models() {
		out = append(out, decode[Entry](m.line))
	}
	for _, m := range variants() {
		out = append(out, m.entry())
	}
	return out
}
