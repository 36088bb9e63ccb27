// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
)

// TestSound checks that a model whose encoder takes sound of one length has only the tokens of its labels.
func TestSound(t *testing.T) {
	for name, x := range map[string]struct {
		fields map[string]any
		want   string // part of the error; "" means none
	}{
		"seq":        {map[string]any{"seq": 225.0}, ""},
		"target_seq": {map[string]any{"target_seq": 225.0}, ""},
		"the same":   {map[string]any{"seq": 225.0, "target_seq": 225.0}, ""},
		"differ":     {map[string]any{"seq": 3000.0, "target_seq": 225.0}, "takes sound of one length"},
		"none":       {map[string]any{}, "seq is missing"},
		"too long":   {map[string]any{"target_seq": 449.0}, "448 learned positions"},
	} {
		fields := map[string]any{"model": map[string]any{"name": "whisper-small"}, "batch": 1.0}
		for k, v := range x.fields {
			fields[k] = v
		}
		s, err := Decode(fields, Source{})
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case x.want == "" && (s.Seq != 225 || s.TargetSeq != 0):
			t.Errorf("%s: %d tokens to %d, want 225 to 0", name, s.Seq, s.TargetSeq)
		case x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)):
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	fields := map[string]any{"model": map[string]any{"name": "whisper-small"}, "batch": 1.0, "lengths": "100,200"}
	if _, err := Decode(fields, Source{}); err != nil {
		t.Errorf("labels of different lengths: %v", err)
	}
}
