// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestWritable checks that a plan uses only settings that can be written, in its recommendation and on every rung.
func TestWritable(t *testing.T) {
	tests := map[string]struct {
		more    map[string]any
		card    string
		refused []string
		want    map[string]any
	}{
		"all":          {nil, "RTX-4090", nil, map[string]any{"optimizer": "adamw-fused", "precision": "amp-bf16"}},
		"no kernel":    {nil, "RTX-4090", []string{"optimizer adamw-fused"}, map[string]any{"optimizer": "adamw", "precision": "amp-bf16"}},
		"no autocast":  {nil, "RTX-4090", []string{"precision amp-bf16"}, map[string]any{"precision": "fp32"}},
		"checkpointed": {map[string]any{"checkpointing": true}, "RTX-4090", []string{"checkpointing false"}, map[string]any{"checkpointing": true}},
		"bf16 on a T4": {map[string]any{"precision": "bf16"}, "T4", nil, map[string]any{"precision": "amp-fp16"}},
		"not writable": {map[string]any{"precision": "bf16"}, "T4", []string{"precision amp-fp16"}, map[string]any{"precision": "bf16"}},
		"eager":        {map[string]any{"attention": "eager"}, "RTX-4090", []string{"attention sdpa"}, map[string]any{"attention": "eager"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Search(Request{Setup: gpt2(t, tt.more), Card: card(t, tt.card), Writable: func(setting string, value any) bool {
				return !slices.Contains(tt.refused, fmt.Sprintf("%s %v", setting, value))
			}})
			if err != nil {
				t.Fatal(err)
			}
			choices := []*Choice{p.Recommended}
			for _, rung := range p.Ladder {
				if rung.Choice != nil {
					choices = append(choices, rung.Choice)
				}
			}
			for _, c := range choices {
				for field, want := range tt.want {
					if c.Settings.Get(field) != want {
						t.Errorf("%s is %v, want %v", field, c.Settings.Get(field), want)
					}
				}
			}
		})
	}
}

// TestImitatedRatherThanNothing checks that a bf16 run that fits a card without bf16 hardware stays in bf16 if
// float16 with float32 weights does not fit.
func TestImitatedRatherThanNothing(t *testing.T) {
	s := run(t, map[string]any{
		"model": map[string]any{"name": "llama-3.2-1b"}, "batch": 4.0, "accumulation": 8.0, "seq": 2048.0,
		"precision": "bf16", "optimizer": "adamw-8bit", "checkpointing": true,
	})
	p, err := Search(Request{Setup: s, Card: card(t, "T4")})
	if err != nil {
		t.Fatal(err)
	}
	if p.Recommended == nil || p.Recommended.Settings.Get("precision") != "bf16" {
		t.Fatalf("recommended is %+v", p.Recommended)
	}
	if !slices.ContainsFunc(p.Notes, func(n string) bool { return strings.Contains(n, "emulated and slow") }) {
		t.Errorf("no note says that bf16 is slow there: %q", p.Notes)
	}
}
