// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/setup"
)

// TestSwinRefuses checks what is refused for Swin, and why.
func TestSwinRefuses(t *testing.T) {
	for want, fields := range map[string]map[string]any{
		"stage 4 of swin sees images of 4 patches": {"image_size": 112.0},
		"transformers stops with an error":         {"checkpointing": true, "lora": map[string]any{"rank": 8.0, "targets": []any{"q_proj"}}},
		"reentrant checkpoints inside others":      {"checkpointing": true, "use_reentrant": true},
		"does not support flash attention":         {"attention": "flash", "precision": "amp-bf16"},
	} {
		fields["model"], fields["batch"] = map[string]any{"name": "swin-tiny"}, 2.0
		s, err := setup.Decode(fields, setup.Source{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(s, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", fields, err, want)
		}
	}
}
