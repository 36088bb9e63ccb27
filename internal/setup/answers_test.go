// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAnswers checks which settings are accepted with the loops that compare answers.
func TestAnswers(t *testing.T) {
	for text, want := range map[string]string{
		`"loop": "trl-dpo"`: "",
		`"loop": "trl-dpo", "completion": 64, "reference": "precomputed"`:  "",
		`"loop": "trl-dpo", "reference": "adapters", "lora": {"rank": 8}`:  "",
		`"loop": "trl-dpo", "reference": "model", "lora": {"rank": 8}`:     "",
		`"loop": "trl-grpo", "reference": "adapters", "lora": {"rank": 8}`: "",
		`"loop": "trl-reward"`:                                                                 "",
		`"loop": "trl-dpo", "reference": "adapters"`:                                           "there are none to switch off",
		`"loop": "trl-dpo", "reference": "none"`:                                               "which loop trl-dpo does not support",
		`"loop": "trl-orpo", "reference": "model"`:                                             "which loop trl-orpo does not support",
		`"loop": "trl-grpo", "reference": "model", "lora": {"rank": 8}`:                        "choose reference adapters",
		`"loop": "trl-dpo", "completion": 128`:                                                 "including the prompt",
		`"loop": "trl-reward", "completion": 64`:                                               "does not separate answers from prompts",
		`"loop": "trainer", "completion": 64`:                                                  "does not separate answers from prompts",
		`"completion": 64`:                                                                     "loop step does not separate answers",
		`"reference": "model"`:                                                                 "does not compare answers",
		`"loop": "trl-dpo", "dist": {"kind": "ddp", "world": 2}`:                               "",
		`"loop": "trl-grpo", "dist": {"kind": "ddp", "world": 2}`:                              "",
		`"loop": "trl-grpo", "dist": {"kind": "zero2", "world": 2}`:                            "",
		`"loop": "trl-grpo", "dist": {"kind": "zero3", "world": 2}`:                            "not with dist.kind zero3",
		`"loop": "trl-orpo", "dist": {"kind": "fsdp1", "world": 2}`:                            "not with dist.kind fsdp1",
		`"loop": "trl-dpo", "lora": {"rank": 8}, "dist": {"kind": "zero2", "world": 2}`:        "",
		`"loop": "trl-dpo", "lora": {"rank": 8}, "dist": {"kind": "zero3", "world": 2}`:        "with adapters is not simulated with dist.kind zero3",
		`"loop": "trl-dpo", "versions": {"trl": "1.9"}, "dist": {"kind": "zero2", "world": 2}`: "and TRL 1.9",
		`"loop": "axolotl-dpo", "dist": {"kind": "zero2", "world": 2}`:                         "not with dist.kind zero2",
		`"loop": "trl-dpo", "versions": {"trl": "0.24"}`:                                       "",
		`"loop": "trl-dpo", "versions": {"trl": "1.5"}`:                                        "is not simulated with TRL 1.5",
		`"loop": "trl-kto", "versions": {"trl": "1.9"}`:                                        "is not simulated with TRL 1.9",
		`"loop": "trl-dpo", "reference": "precomputed", "versions": {"trl": "1.9"}`:            "is not simulated with TRL 1.9",
		`"loop": "trl-dpo", "dist": {"kind": "fsdp2", "world": 2}`:                             "",
	} {
		_, err := answersSetup(t, "gpt2", text)
		if got := message(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if s, err := answersSetup(t, "bert-base", `"loop": "trl-dpo"`); err == nil {
		t.Errorf("DPO of BERT: %+v", s)
	}
}

// answersSetup decodes a setup with these fields.
func answersSetup(t *testing.T, model, fields string) (*Setup, error) {
	t.Helper()
	var raw map[string]any
	if err := json.Unmarshal([]byte(`{"model": {"name": "`+model+`"}, "batch": 2, "seq": 128, `+fields+`}`), &raw); err != nil {
		t.Fatal(err)
	}
	return Decode(raw, Source{})
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
