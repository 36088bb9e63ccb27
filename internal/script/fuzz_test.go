// SPDX-License-Identifier: Apache-2.0

package script_test

import (
	"os"
	"path/filepath"
	"testing"

	"snug/internal/pysrc"
	"snug/internal/script"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// FuzzFollow checks that any script that parses is followed or refused in bounded time and memory.
func FuzzFollow(f *testing.F) {
	files, err := filepath.Glob("../../testdata/loops/*/*.py")
	if err != nil || len(files) == 0 {
		f.Fatal("no programs", err)
	}
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Cleanup(script.LimitStatements(20_000)) // an input that runs for ten seconds counts as hung
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := pysrc.Parse("fuzz.py", src)
		if err != nil {
			t.Skip()
		}
		s := &setup.Setup{
			Batch: 1, Seq: 8, Steps: 1, Optimizer: "adamw", Precision: setup.FP32,
			Model:  setup.Model{Config: map[string]any{"model_type": "gpt2", "n_layer": 1.0, "n_embd": 16.0, "n_head": 2.0, "vocab_size": 32.0, "n_positions": 16.0}},
			Script: &setup.Script{File: file},
		}
		_, _ = simulate.Run(s, simulate.Options{MaxEvents: 200_000})
		_, _ = simulate.Survey(s)
		s.Model = setup.Model{}
		_, _ = simulate.Survey(s)
	})
}
