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

	"snug/internal/setup"
)

// sentenceRun is a run of sentence-transformers that the real library made on the stand-in for a GPU (testdata/standin).
type sentenceRun struct {
	program
	Recorded struct {
		Allocated, Reserved uint64
	} `json:"recorded"`
	// Limits in percent, if they are not the usual ones: because layers or dimensions are chosen at random.
	Allocated float64 `json:"allocated_within"`
	Reserved  float64 `json:"reserved_within"`
}

// sentenceRuns returns the rows of testdata/loops/standin_sentence_transformers.jsonl, or of the file in
// SNUG_STANDIN_SENTENCES.
func sentenceRuns(t *testing.T) (out []sentenceRun) {
	f, err := os.Open(cmp.Or(os.Getenv("SNUG_STANDIN_SENTENCES"), filepath.Join(loopsDir, "standin_sentence_transformers.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row sentenceRun
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// standinSetup returns the setup of a program in testdata/loops/sentence_transformers: a BERT with the head of the program's
// class.
func standinSetup(t *testing.T, p program) *setup.Setup {
	args := map[string]string{"--layers": "4", "--batch-size": "16", "--seq-len": "128"}
	for i := 0; i+1 < len(p.Args); i++ {
		args[fmt.Sprint(p.Args[i])] = fmt.Sprint(p.Args[i+1])
	}
	s := &setup.Setup{Steps: 3, Optimizer: "adamw", Loop: p.Program, Precision: setup.FP32, Batch: whole(args["--batch-size"]), Seq: whole(args["--seq-len"])}
	s.Model.Config = map[string]any{"model_type": "bert", "num_hidden_layers": float64(whole(args["--layers"]))}
	s.Model.Head = "encoder"
	switch {
	case strings.HasSuffix(p.Program, "/cross_encoder.py"), args["--loss"] == "cross":
		s.Model.Head = "sequence-classification"
	case strings.HasSuffix(p.Program, "/sparse_encoder.py"):
		s.Model.Head = "masked-lm"
	}
	words := make([]string, len(p.Args))
	for i, a := range p.Args {
		words[i] = fmt.Sprint(a)
	}
	return p.scripted(t, s, words)
}

// TestStandinSentences compares losses of sentence-transformers with runs of the real library on the stand-in.
func TestStandinSentences(t *testing.T) {
	for _, p := range sentenceRuns(t) {
		t.Run(p.ID, func(t *testing.T) {
			s := standinSetup(t, p.program)
			if dir := os.Getenv("SNUG_STANDIN_SNAPSHOTS"); dir != "" {
				compareSnapshot(t, s, filepath.Join(dir, p.ID+".pickle.gz"))
			}
			res, err := Run(s, Options{})
			if err != nil {
				t.Fatal(err)
			}
			peaks := played(t, res)
			off := func(got, want uint64) float64 { return 100 * (float64(got)/float64(want) - 1) }
			allocated, reserved := off(peaks.PeakAllocated, p.Recorded.Allocated), off(peaks.PeakReserved, p.Recorded.Reserved)
			if math.Abs(reserved) > max(p.Reserved, 0.5) || math.Abs(allocated) > max(p.Allocated, 0.2) || len(s.Script.Notes()) > 0 {
				t.Errorf("reserved bytes are off by %+.2f %%, allocated bytes by %+.2f %%; notes %q", reserved, allocated, s.Script.Notes())
			}
			t.Logf("allocated %+.3f %% (%+d), reserved %+.3f %% %v", allocated, int64(peaks.PeakAllocated)-int64(p.Recorded.Allocated), reserved, s.Script.Notes())
		})
	}
}
