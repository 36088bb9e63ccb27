// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/setup"
)

// standinProgram is a program that the real PyTorch ran on the stand-in for a GPU (testdata/standin).
type standinProgram struct {
	ID       string   `json:"id"`
	Program  string   `json:"program"`
	Args     []any    `json:"args"`
	Within   float64  `json:"within"` // limit in percent; the default is 0.1
	Notes    []string `json:"notes"`  // parts of the notes that the program gets
	Recorded struct {
		Allocated, Reserved uint64
	} `json:"recorded"`
	Measured struct { // on an H200
		Allocated, Reserved uint64
	} `json:"measured"`
}

// setup returns the setup that snug learns from the program alone.
func (p standinProgram) setup(t *testing.T) *setup.Setup {
	t.Helper()
	words := []string{p.Program}
	for _, a := range p.Args {
		words = append(words, fmt.Sprint(a))
	}
	from := setup.Source{Base: loopsDir, Survey: Survey, Open: func(path string) (io.ReadCloser, error) { return os.Open(path) }}
	s, err := setup.Decode(map[string]any{"loop": strings.Join(words, " ")}, from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStandinPrograms compares programs with runs of them on the stand-in. snug gets only their code: the model, or the
// code that builds it, the batch and the length are found there.
func TestStandinPrograms(t *testing.T) { compareOnStandin(t, "standin_wild3.jsonl") }

// TestStandinBackbones does the same with models without a head, or with other parts around them.
func TestStandinBackbones(t *testing.T) { compareOnStandin(t, "standin_backbones.jsonl") }

// compareOnStandin compares the programs in a file with their recordings.
func compareOnStandin(t *testing.T, file string) {
	for _, p := range standinPrograms(t, file) {
		t.Run(p.ID, func(t *testing.T) {
			s := p.setup(t)
			res, err := Run(s, Options{Standin: true})
			if err != nil {
				t.Fatal(err)
			}
			peaks, limit := played(t, res), max(p.Within, 0.1)
			off := func(got, want uint64) float64 { return 100 * (float64(got)/float64(want) - 1) }
			reserved, allocated := off(peaks.PeakReserved, p.Recorded.Reserved), off(peaks.PeakAllocated, p.Recorded.Allocated)
			if math.Abs(reserved) > limit || math.Abs(allocated) > limit {
				t.Errorf("reserved bytes are off by %+.2f %%, allocated bytes by %+.2f %%", reserved, allocated)
			}
			notes := strings.Join(s.Script.Notes(), "\n")
			for _, n := range p.Notes {
				if !strings.Contains(notes, n) {
					t.Errorf("the notes lack %q:\n%s", n, notes)
				}
			}
			if len(p.Notes) == 0 && notes != "" {
				t.Errorf("unexpected notes:\n%s", notes)
			}
		})
	}
}

func standinPrograms(t *testing.T, file string) (out []standinProgram) {
	t.Helper()
	f, err := os.Open(filepath.Join(loopsDir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p standinProgram
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}
