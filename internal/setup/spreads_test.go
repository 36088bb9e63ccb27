// SPDX-License-Identifier: Apache-2.0

package setup

import "testing"

// TestSpreadsBy checks that a run is said to spread over GPUs exactly with the kinds of data parallelism that its setup
// accepts.
func TestSpreadsBy(t *testing.T) {
	for _, base := range []struct{ model, fields string }{
		{"gpt2", `"clip": true`},
		{"gpt2", `"lora": {"rank": 8}`},
		{"gpt2", `"lora": {"tuner": "ia3"}`},
		{"gpt2", `"lora": {"tuner": "prompt", "virtual_tokens": 8}`},
		{"gpt2", `"loop": "trainer"`},
		{"gpt2", `"loop": "trl-dpo"`},
		{"gpt2", `"loop": "trl-orpo"`},
		{"gpt2", `"loop": "trl-grpo"`},
		{"gpt2", `"loop": "llama-factory-kto"`},
		{"llama-3.2-1b", `"unsloth": ["norm"]`},
	} {
		s, err := answersSetup(t, base.model, base.fields)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range DistKinds {
			_, err := answersSetup(t, base.model, base.fields+`, "dist": {"kind": "`+kind+`", "world": 2}`)
			if got, want := s.SpreadsBy(kind), err == nil; got != want {
				t.Errorf("%s with %s: SpreadsBy is %v, but the setup says %v", base.fields, kind, got, err)
			}
		}
	}
}
