// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snug/internal/setup"
	"snug/internal/tune"
)

// sweptRun is a run of a sweep on an H200, in testdata/tune/h200.jsonl.
type sweptRun struct {
	Sweep, Outcome string
	Cap            float64
	Batch          int
	Checkpointing  *bool
	Rate           float64 `json:"samples_per_second"`
	Reserved       uint64
	Retries        int
}

// variant identifies the settings of a run in a sweep: an example without a switch for checkpointing has one kind.
type variant struct {
	batch int
	off   bool // checkpointing is turned off
}

// sweptRuns returns the runs of an example's sweep under a cap.
func sweptRuns(t *testing.T, example string, limit float64) map[variant]sweptRun {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/tune/h200.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := map[variant]sweptRun{}
	for line := range strings.Lines(string(raw)) {
		var s sweptRun
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		if s.Sweep == example && s.Cap == limit {
			out[variant{s.Batch, s.Checkpointing != nil && !*s.Checkpointing}] = s
		}
	}
	return out
}

// TestTuneOnMeasuredSweeps plans trials for four examples as they ship, from their code alone, and takes the results from
// their measured sweeps: at most five trials find settings within 3 % of the best. The memory of the candidates is
// predicted within 1 %, and mostly exactly.
func TestTuneOnMeasuredSweeps(t *testing.T) {
	exact, all := 0, 0
	for _, c := range []struct{ example, words string }{
		{"gsa", "--target-effective-batch 96 -- python train.py --config configs/pretrain.yaml"},
		{"hilbert_ssm", "--target-effective-batch 384 -- python train.py --config configs/gesture.yaml"},
		{"new_llm", "--target-effective-batch 192 --batch 8 --accumulation 1 -- python train.py --batch-size {batch} --accumulation-steps {accumulation}"},
		{"two_tower", "--target-effective-batch 12000 --batch 256 --accumulation 1 -- python main.py --num-workers 8 --max-samples 600000 --batch-size {batch} --accumulation-steps {accumulation}"},
	} {
		for _, limit := range []float64{16, 24, 40} {
			t.Run(fmt.Sprintf("%s, %g GiB", c.example, limit), func(t *testing.T) {
				runs, top := sweptRuns(t, c.example, limit), 0.0
				climb := plannedClimb(t, c.example, fmt.Sprintf("--limit %gGiB %s", limit, c.words))
				for _, c := range climb.Candidates() {
					s, swept := runs[variantOf(c)]
					if !swept || s.Outcome != "fits" || s.Retries > 0 {
						continue
					}
					off := float64(c.Predicted)/float64(s.Reserved) - 1
					if math.Abs(off) > 0.01 {
						t.Errorf("%s is predicted %.2f %% off", c.Name(), 100*off)
					}
					if all++; off == 0 {
						exact++
					}
				}
				for s := climb.Next(); s.Next != nil; s = climb.Next() {
					climb.Record(*s.Next, resultOf(runs, *s.Next))
				}
				for _, s := range runs {
					if s.Outcome == "fits" {
						top = max(top, s.Rate)
					}
				}
				best := climb.Best()
				if best == nil || best.Rate < 0.97*top || climb.Runs() > tune.DefaultTrials {
					t.Fatalf("found %v in %d trials; the best of the sweep is %.0f", best, climb.Runs(), top)
				}
				t.Logf("%s in %d trials, %.1f %% of the best", best.Name(), climb.Runs(), 100*best.Rate/top)
			})
		}
	}
	t.Logf("%d of %d predictions are exact", exact, all)
	if 3*exact < 2*all {
		t.Errorf("%d of %d predictions are exact", exact, all)
	}
}

func variantOf(c tune.Candidate) variant {
	return variant{c.Batch, c.Settings.Get("checkpointing") == false}
}

// plannedClimb returns the climb that snug tune would do in an example's folder.
func plannedClimb(t *testing.T, example, words string) *tune.Climb {
	t.Helper()
	t.Chdir("../../examples/" + example)
	var out, said bytes.Buffer
	env := Env{
		Stdout: &out, Stderr: &said, Open: func(path string) (io.ReadCloser, error) { return os.Open(path) },
		Getenv: func(name string) string {
			return map[string]string{"SNUG_STORE": filepath.Join(t.TempDir(), "measured.db")}[name]
		},
	}
	if code := Run(context.Background(), env, append([]string{"tune", "--dry-run", "--json", "--gpu", "H200"}, strings.Fields(words)...)); code != exitDone {
		t.Fatalf("snug tune %s: exit %d: %s", words, code, said.String())
	}
	var planned struct {
		Limit      uint64
		Candidates []struct {
			Settings struct {
				Batch, Accumulation int
				Checkpointing       *bool
			}
			Predicted uint64
			Expected  float64 `json:"predicted_samples_per_second"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &planned); err != nil {
		t.Fatal(err)
	}
	var list []tune.Candidate
	for _, c := range planned.Candidates {
		var other setup.Values
		if c.Settings.Checkpointing != nil {
			other = setup.Assign("checkpointing", *c.Settings.Checkpointing)
		}
		list = append(list, tune.Candidate{
			Variant:  other.String(),
			Settings: other.With("batch", c.Settings.Batch).With("accumulation", c.Settings.Accumulation),
			Batch:    c.Settings.Batch, Accumulation: c.Settings.Accumulation, World: 1, Predicted: c.Predicted, Expected: c.Expected,
		})
	}
	climb, err := tune.New(list, 0, tune.Options{Limit: planned.Limit})
	if err != nil {
		t.Fatal(err)
	}
	return climb
}

// resultOf returns the result of a trial at a batch. A sweep ends when smaller batches are clearly slower, so a batch
// below it fits and is slower.
func resultOf(runs map[variant]sweptRun, c tune.Candidate) tune.Result {
	s, swept := runs[variantOf(c)]
	switch {
	case !swept:
		return tune.Result{Outcome: tune.Fits, Reserved: 1 << 30, Rate: 1, Noise: 0.003, Steps: 12}
	case s.Outcome != "fits":
		return tune.Result{Outcome: tune.OutOfMemory, Why: "no memory"}
	}
	return tune.Result{Outcome: tune.Fits, Reserved: s.Reserved, Lasting: s.Reserved / 10, Rate: s.Rate, Noise: 0.003, Steps: 12}
}
