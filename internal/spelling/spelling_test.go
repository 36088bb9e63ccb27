// SPDX-License-Identifier: Apache-2.0

package spelling

import "testing"

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"replay", "replay", 0}, {"repaly", "replay", 1}, {"", "abc", 3}, {"abc", "", 3}, {"limits", "limit", 1}}
	for _, tt := range tests {
		if got := Distance(tt.a, tt.b); got != tt.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"batch", "accumulation", "BF16", "gpt2"}
	for got, want := range map[string]string{"bacth": "batch", "acumulation": "accumulation", "bf61": "BF16", "zzzz": "", "": "", "batch_size_per_gpu": "batch", "accum": "accumulation",
		"gpt3": "", "gpt": "gpt2", "gpt22": "gpt2", "bf6": "BF16", "bf32": ""} {
		if n := Nearest(got, names); n != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, n, want)
		}
	}
}
