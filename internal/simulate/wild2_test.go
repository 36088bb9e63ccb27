// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"snug/internal/setup"
)

// TestSecondWildLoops has programs by another author that were off, or noted, when they were first read. Each is now
// met without a note.
func TestSecondWildLoops(t *testing.T) {
	for _, p := range programs(t, "measured_wild2.jsonl") {
		t.Run(p.ID, func(t *testing.T) {
			s := p.setup(t)
			s.Script.Config = readConfig
			res, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			peaks := played(t, res)
			for _, x := range []struct {
				kind      string
				got, want uint64
			}{{"reserved", peaks.PeakReserved, p.Measured.Reserved}, {"allocated", peaks.PeakAllocated, p.Measured.Allocated}} {
				if off := 100 * (float64(x.got)/float64(x.want) - 1); math.Abs(off) > 0.1 {
					t.Errorf("%s bytes are off by %+.2f %%", x.kind, off)
				}
			}
			if notes := s.Script.Notes(); len(notes) > 0 {
				t.Errorf("notes %q", notes)
			}
		})
	}
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

// TestNamedModels checks which of two models of a script is the setup's.
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
		t.Errorf("another model is %v, %v", own["model_type"], found)
	}
	if _, found := named("models/none"); found {
		t.Error("a model without a configuration is found")
	}
}
