// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/setup"
)

// TestComparisonIsNotReplaced checks that a detected script that cannot be followed is replaced by snug's own step only
// if it does not compare answers: such a step would train something else.
func TestComparisonIsNotReplaced(t *testing.T) {
	for name, x := range map[string]struct{ text, want string }{
		"DPO":            {"trainer = DPOTrainer(model)\n", "DPOTrainer compares answers"},
		"reward":         {"if True:\n    t = trl.RewardTrainer(model=m)\n", "RewardTrainer compares answers"},
		"supervised":     {"trainer = SFTTrainer(model)\n", ""},
		"in a comment":   {"# trainer = DPOTrainer(model)\nt = own(1)\n", ""},
		"only a config":  {"c = DPOConfig(beta=0.1)\n", ""},
		"only an import": {"from trl import ORPOTrainer\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			text := x.text + "unknown_call(\n    1)\n"
			file, err := pysrc.Parse("x.py", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			s := &setup.Setup{
				Batch: 2, Seq: 16, Steps: 3, Optimizer: "adamw", Precision: setup.FP32, Loop: "x.py",
				Model:  setup.Model{Config: map[string]any{"model_type": "gpt2", "n_layer": 1.0, "n_embd": 64.0, "n_head": 2.0, "vocab_size": 1000.0, "n_positions": 128.0}, Head: "causal-lm"},
				Script: &setup.Script{File: file, Guessed: true, Read: func(string) (string, error) { return text, nil }},
			}
			_, err = Run(s, Options{})
			if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
				t.Errorf("got %v, want %q", err, x.want)
			}
		})
	}
}

// TestOwnClassIsNotReplaced checks that a detected script that cannot be followed is not replaced by snug's own step if it
// trains a model class that the project defines, on one GPU or several.
func TestOwnClassIsNotReplaced(t *testing.T) {
	text := "unknown_call(\n    1)\n"
	for name, x := range map[string]struct {
		class string
		dist  *setup.Dist
	}{"own": {"train.py:3: PairForRanking is the project's own", nil}, "none": {}, "own over GPUs": {"train.py:3: PairForRanking is the project's own", &setup.Dist{Kind: "ddp", Mesh: setup.Mesh{setup.Data: 2}}}, "none over GPUs": {"", &setup.Dist{Kind: "ddp", Mesh: setup.Mesh{setup.Data: 2}}}} {
		t.Run(name, func(t *testing.T) {
			file, err := pysrc.Parse("x.py", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Run(&setup.Setup{
				Batch: 2, Seq: 16, Steps: 3, Optimizer: "adamw", Precision: setup.FP32, Loop: "x.py", Dist: x.dist,
				Model:  setup.Model{Config: map[string]any{"model_type": "gpt2", "n_layer": 1.0, "n_embd": 64.0, "n_head": 2.0, "vocab_size": 1000.0, "n_positions": 128.0}, Head: "causal-lm"},
				Script: &setup.Script{File: file, Guessed: true, OwnClass: func() string { return x.class }, Read: func(string) (string, error) { return text, nil }},
			}, Options{})
			if x.class == "" && err != nil || x.class != "" && (err == nil || !strings.HasPrefix(err.Error(), x.class+"; record the run")) {
				t.Errorf("got %v, want %q", err, x.class)
			}
		})
	}
}
