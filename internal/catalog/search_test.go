// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"testing"
)

func TestLike(t *testing.T) {
	for query, first := range map[string]string{
		"llama-3.3-70b":  "meta-llama/Llama-3.3-70B-Instruct",
		"llama 3.2 1b":   "llama-3.2-1b",
		"qwen2.5-0.5B":   "qwen2.5-0.5b",
		"mistral-7b-ins": "mistralai/Mistral-7B-Instruct-v0.1",
	} {
		if got := Like(query); len(got) == 0 || got[0] != first {
			t.Errorf("Like(%q) = %q; want %s first", query, got, first)
		}
	}
	for _, query := range []string{"", "--", "gemma-9-270m", "gpt-7"} {
		if got := Like(query); len(got) > 0 {
			t.Errorf("Like(%q) = %q", query, got)
		}
	}
}

func TestEntriesAreAll(t *testing.T) {
	var names []string
	for _, e := range Entries() {
		names = append(names, e.Name)
		if Find(e.Name) == nil || e.Params == 0 {
			t.Errorf("%+v was not found, or has no size", e)
		}
	}
	if want := len(models()) + len(variants()); len(names) != want {
		t.Errorf("%d entries, want %d", len(names), want)
	}
	if at := slices.Index(names, "distilbert/distilgpt2"); at < slices.Index(names, "gpt2") || at > slices.Index(names, "gpt2-medium") {
		t.Errorf("distilgpt2 is not listed with gpt2: %d", at)
	}
}
