// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBeneath checks which fields of files still apply if a flag replaces their model or their length.
func TestBeneath(t *testing.T) {
	files := func() map[string]any {
		return map[string]any{
			"model": map[string]any{"name": "gpt2", "head": "sequence-classification"},
			"batch": 4.0, "seq": 64.0, "loop": "train.py", "lora": map[string]any{"rank": 8.0},
		}
	}
	for name, x := range map[string]struct {
		over    map[string]any
		without []string // the files' fields that no longer apply
		notes   int
	}{
		"nothing":         {map[string]any{}, nil, 0},
		"a profile":       {map[string]any{"model": map[string]any{"profile": "memory.snug"}}, []string{"loop", "lora"}, 0},
		"another model":   {map[string]any{"model": map[string]any{"name": "distilgpt2"}}, []string{"loop"}, 1},
		"the same model":  {map[string]any{"model": map[string]any{"name": "openai-community/gpt2"}}, nil, 0},
		"another loop":    {map[string]any{"model": map[string]any{"name": "distilgpt2"}, "loop": "step"}, nil, 0},
		"a distribution":  {map[string]any{"lengths": "uniform:16-64"}, []string{"seq"}, 0},
		"file of samples": {map[string]any{"lengths": "data.jsonl"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			want := files()
			for _, field := range x.without {
				delete(want, field)
			}
			got, notes := beneath(files(), x.over)
			if diff := cmp.Diff(want, got); diff != "" || len(notes) != x.notes {
				t.Errorf("-want +got:\n%s\nnotes %q", diff, notes)
			}
		})
	}
}
