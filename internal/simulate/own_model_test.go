// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"snug/internal/setup"
)

// sized is a program whose batch and length are not in arguments of the usual names.
type sized struct {
	program
	Batch, Seq int
}

// allowed is how far a program may be off its measured peaks, in percent, where that is more than a hundredth: of
// cuDNN's memory for recurrent layers only a few sizes are measured.
var allowed = map[string]float64{"wild2/own_lstm_tbptt.py": 1.5, "wild2/adafactor_bf16.py": 0.25}

// TestOwnModels compares programs that build their own models, or read their sizes from files and dataclasses, with
// their measured peaks.
func TestOwnModels(t *testing.T) {
	names := []string{"yaml_driven", "hf_custom_loss", "dual_encoder", "adafactor_bf16", "own_encoder", "own_gpt_rope", "own_lstm_tbptt"}
	n := 0
	for _, p := range sizedPrograms(t, "measured_wild2.jsonl") {
		if !slices.Contains(names, strings.TrimSuffix(filepath.Base(p.Program), ".py")) {
			continue
		}
		n++
		t.Run(p.ID, func(t *testing.T) {
			t.Parallel()
			p.compare(t)
		})
	}
	if n < len(names) {
		t.Errorf("only %d programs were found", n)
	}
}

func (p sized) compare(t *testing.T) {
	res, err := Run(p.setup(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, limit := played(t, res), max(allowed[p.Program], 0.01)
	for _, c := range []struct {
		what          string
		got, measured uint64
	}{{"reserved", got.PeakReserved, uint64(p.Measured.Reserved)}, {"allocated", got.PeakAllocated, uint64(p.Measured.Allocated)}} {
		if off := 100 * (float64(c.got)/float64(c.measured) - 1); off > limit || off < -limit {
			t.Errorf("%s: %d, measured %d: %.2f %% off", c.what, c.got, c.measured, off)
		}
	}
}

func sizedPrograms(t *testing.T, file string) (out []sized) {
	f, err := os.Open(filepath.Join(loopsDir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p sized
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// setup returns the setup of the program. A script that builds its own model gets GPT-2, which is not used.
func (p sized) setup(t *testing.T) *setup.Setup {
	s := &setup.Setup{Steps: 3, Optimizer: "adamw", Loop: p.Program, Precision: setup.FP32, Batch: p.Batch, Seq: p.Seq}
	folder := "models/gpt2"
	args := make([]string, len(p.Args))
	for i, a := range p.Args {
		args[i] = fmt.Sprint(a)
		if _, model, ok := strings.Cut(args[i], "models/"); ok {
			folder = "models/" + model
		}
		if i > 0 && args[i-1] == "--batch-size" {
			s.Batch = whole(args[i])
		}
		if i > 0 && args[i-1] == "--seq-len" {
			s.Seq = whole(args[i])
		}
	}
	raw, err := os.ReadFile(filepath.Join(loopsDir, folder, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &s.Model.Config); err != nil {
		t.Fatal(err)
	}
	return p.scripted(t, s, args)
}
