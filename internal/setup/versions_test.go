// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVersionsBeyond checks that unknown versions, and text that is not a version, are refused.
func TestVersionsBeyond(t *testing.T) {
	for _, c := range []struct{ key, version, want string }{
		{"torch", "2.0", "versions.torch: the allocator of PyTorch 2.0 is not modeled"},
		{"torch", "2.14", "versions.torch: the allocator of PyTorch 2.14 is not modeled"},
		{"torch", "2.12", ""},
		{"transformers", "5.18", "versions.transformers 5.18 is not supported; choose 4.30 to 5.17"},
		{"transformers", "4.30.2", ""},
		{"bitsandbytes", "0.51.0", "versions.bitsandbytes 0.51.0 is not supported; choose 0.43 to 0.50"},
		{"bitsandbytes", "0.50.2", ""},
		{"peft", "0.22.0", "versions.peft 0.22.0 is not supported; choose 0.16 to 0.21"},
		{"peft", "0.21.1", ""},
		{"trl", "1.17", "versions.trl 1.17 is not supported; choose 0.20 to 1.16"},
		{"trl", "new", `versions.trl "new" is not a version; write it like 1.16`},
		{"accelerate", "2.0", "versions.accelerate 2.0 is not supported; choose 1.0 to 1.15"},
		{"accelerate", "1.15.0", ""},
		{"cuda", "latest", `versions.cuda "latest" is not a version`},
	} {
		_, err := Decode(map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 64.0, "versions": map[string]any{c.key: c.version}}, Source{})
		if got := fmt.Sprint(err); c.want == "" && err != nil || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: %s, want %q", c.key, c.version, got, c.want)
		}
	}
}

// TestAssumedVersion checks the transformers version that is shown, and whether it is marked as assumed.
func TestAssumedVersion(t *testing.T) {
	for want, versions := range map[string]map[string]any{
		"transformers 5.17 assumed": nil,
		"transformers 4.45":         {"transformers": "4.45.2"},
		"transformers 4.51 assumed": {"torch": "2.5"},
	} {
		s, err := Decode(map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "seq": 64.0, "versions": versions}, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, s.transformersPhrase()); diff != "" {
			t.Errorf("%v: -want +got:\n%s", versions, diff)
		}
	}
	s, err := Decode(map[string]any{"model": map[string]any{"name": "torchvision/resnet50"}, "batch": 1.0}, Source{})
	if err != nil || s.transformersPhrase() != nil {
		t.Errorf("a torchvision model shows transformers: %v, %v", s.transformersPhrase(), err)
	}
}
