// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"snug/internal/setup"
)

// TestCappedScoresStayEager checks that a plan keeps eager attention where sdpa would compute something else, as in
// Gemma 2, or does not exist, as in BLOOM, and replaces it elsewhere.
func TestCappedScoresStayEager(t *testing.T) {
	for _, c := range []struct{ model, want string }{
		{"gemma-2-2b", setup.Eager}, {"bloom-560m", setup.Eager}, {"gpt2", setup.SDPA},
	} {
		p := recommended(t, modeled(c.model, map[string]any{"batch": 1.0, "seq": 128.0, "precision": "bf16", "attention": "eager"}), "RTX-4090")
		if got := p.Recommended.Estimate.Setup.Attention; got != c.want {
			t.Errorf("%s is planned with %s attention, want %s", c.model, got, c.want)
		}
		offered := slices.ContainsFunc(p.Levers, func(l Lever) bool { return l.Change == "attention sdpa" })
		if offered && c.want == setup.Eager {
			t.Errorf("%s: attention sdpa is offered as a lever", c.model)
		}
	}
}
