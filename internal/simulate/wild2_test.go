// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/allocator"
	"snug/internal/setup"
)

// sized is a program that does not use the usual argument names for model, batch and length.
type sized struct {
	program
	Batch, Seq int
	Model      string
}

// allowed is the tolerance for the peaks of some programs, in percent, because double backward is only approximated
// and only a few sizes of cuDNN's memory for recurrent layers are known. For other programs it is 0.1.
var allowed = map[string]float64{"wild2/grad_penalty.py": 8, "wild2/own_lstm_tbptt.py": 1.5, "wild2/adafactor_bf16.py": 0.25, "wild2/hf_callbacks_gc.py": 0.15}

// TestSecondWildLoops compares programs by another author with their measured peaks.
func TestSecondWildLoops(t *testing.T) {
	for _, p := range sizedPrograms(t, "measured_wild2.jsonl") {
		t.Run(p.ID, func(t *testing.T) {
			s := p.setup(t)
			res, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			p.compare(t, played(t, res))
		})
	}
}

func (p sized) compare(t *testing.T, got allocator.Result) {
	limit := max(allowed[p.Program], 0.1)
	for _, x := range []struct {
		kind      string
		got, want uint64
	}{{"reserved", got.PeakReserved, p.Measured.Reserved}, {"allocated", got.PeakAllocated, p.Measured.Allocated}} {
		if off := 100 * (float64(x.got)/float64(x.want) - 1); math.Abs(off) > limit {
			t.Errorf("%s bytes are off by %+.2f %%", x.kind, off)
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

// setup returns the setup of the program. A script that builds its own model has GPT-2 as an unused placeholder.
func (p sized) setup(t testing.TB) *setup.Setup {
	s := &setup.Setup{Steps: 3, Optimizer: "adamw", Loop: p.Program, Precision: setup.FP32, Batch: p.Batch, Seq: p.Seq}
	model := cmp.Or(p.Model, "gpt2")
	args := make([]string, len(p.Args))
	for i, a := range p.Args {
		args[i] = fmt.Sprint(a)
		if name, ok := strings.CutPrefix(args[i], "models/"); ok && p.Model == "" {
			model = name
		}
		if i > 0 && args[i-1] == "--batch-size" {
			s.Batch = whole(args[i])
		}
		if i > 0 && args[i-1] == "--seq-len" {
			s.Seq = whole(args[i])
		}
	}
	config, err := readConfig("models/" + model)
	if err != nil {
		t.Fatal(err)
	}
	s.Model.Config = config
	p.scripted(t, s, args)
	s.Script.Config = readConfig
	return s
}

// readConfig reads the configuration of a measured model by its path in a command line.
func readConfig(name string) (out map[string]any, err error) {
	raw, err := os.ReadFile(filepath.Join(loopsDir, name, "config.json"))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(raw, &out)
	return out, err
}

// TestNamedModels checks which of a script's two models is the setup's.
func TestNamedModels(t *testing.T) {
	of := func(name string) map[string]any {
		config, err := readConfig("models/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	r := &run{s: &setup.Setup{Model: setup.Model{Config: of("gpt2")}, Seq: 64, Script: &setup.Script{Config: readConfig}}}
	named := r.named()
	if own, found := named("models/gpt2"); own != nil || !found {
		t.Errorf("the setup's model is not recognized: %v, %v", own, found)
	}
	if own, found := named("models/llama-160m"); !found || own["model_type"] != "llama" {
		t.Errorf("the other model is %v, %v", own["model_type"], found)
	}
	if _, found := named("models/none"); found {
		t.Error("a model without a configuration is found")
	}
}
