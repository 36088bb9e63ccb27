// SPDX-License-Identifier: Apache-2.0

package setup

import "testing"

// TestExpression checks that a single target with operators of regular expressions is compared with whole paths.
func TestExpression(t *testing.T) {
	for target, want := range map[string]bool{
		`model.language_model.layers.[\d]+.(mlp|self_attn).(up|q)_proj`: true,
		`.*(q|v)_proj$`:                 true,
		`layers.[\d]+.self_attn.q_proj`: false, // not from the beginning
		`[`:                             false,
	} {
		match := (&LoRA{Targets: []string{target}}).Expression()
		if match == nil || match("model.language_model.layers.3.self_attn.q_proj") != want {
			t.Errorf("%s: want %v", target, want)
		}
	}
	for _, targets := range [][]string{{"q_proj"}, {"q_proj", "v.*"}, {AllLinear}, nil} {
		if (&LoRA{Targets: targets}).Expression() != nil {
			t.Errorf("%v is not an expression", targets)
		}
	}
}
