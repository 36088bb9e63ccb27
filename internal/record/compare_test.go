// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/store"
)

func gpt2(t *testing.T) *setup.Setup {
	t.Helper()
	s, err := setup.Decode(map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 8.0, "seq": 128.0, "accumulation": 4.0}, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func card(t *testing.T, name string) gpu.Card {
	t.Helper()
	c, err := gpu.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// compared returns a result whose runs reserved the given fractions of their estimates.
func compared(shares ...float64) *Result {
	r := &Result{}
	for _, share := range shares {
		x := &run.Report{GPU: &run.GPU{Name: "NVIDIA H200"}, Versions: map[string]string{"torch": "2.11.0+cu128"}, Steps: []run.Step{{PeakReserved: uint64(1e9 * share)}}}
		r.Trials = append(r.Trials, &Trial{Report: x, Comparison: &Comparison{Estimate: &estimate.Answer{PeakReserved: 1e9}}})
	}
	return r
}

// TestReferenceFollowsTheRun checks that the run overrides a decoded setup's defaults for accumulation and steps, but
// not values from a file.
func TestReferenceFollowsTheRun(t *testing.T) {
	x := &run.Report{Steps: []run.Step{{Backwards: 1}, {Backwards: 2}}, Versions: map[string]string{"torch": "2.9.1+cu126"}}
	decoded, err := ReferenceTo(gpt2(t), setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	written := NewReference(map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 8.0, "seq": 128.0, "accumulation": 4.0, "steps": 5.0}, setup.Source{})
	for _, c := range []struct {
		name                string
		ref                 *Reference
		accumulation, steps int
	}{{"decoded", decoded, 2, 2}, {"written", written, 4, 5}} {
		s, _, err := c.ref.decode(profile.Point{"batch": 3}, x)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if s.Batch != 3 || s.Accumulation != c.accumulation || s.Steps != c.steps || s.Versions.Torch != "2.9.1" || s.Model.Name != "gpt2" {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

// Mistakes are found before anything runs; a model without a family is not a mistake.
func TestReferenceCheck(t *testing.T) {
	if err := reference().Check(nil); err != nil {
		t.Error(err)
	}
	fields := map[string]any{"model": map[string]any{"config": map[string]any{"model_type": "foo"}}, "batch": 1.0}
	if err := NewReference(fields, setup.Source{}).Check(profile.Point{"batch": 2}); err != nil {
		t.Error(err)
	}
	fields = map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 1.0, "precision": "fp31"}
	if err := NewReference(fields, setup.Source{}).Check(nil); err == nil || !strings.Contains(err.Error(), "fp31") {
		t.Error(err)
	}
}

func TestResidual(t *testing.T) {
	s := gpt2(t)
	if got := (&Result{Trials: []*Trial{{Report: &run.Report{}}}}).Residual(s, card(t, "H200"), nil); got != nil {
		t.Errorf("nothing was compared: %+v", got)
	}
	r := compared(1.02, 0.99)
	got := r.Residual(s, card(t, "H200"), nil)
	if diff := cmp.Diff(&estimate.Range{Cases: 2, Low: 0.99 - 1, High: 1.02 - 1}, got, cmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-6 })); diff != "" {
		t.Error(diff)
	}
	if usual, got := estimate.UsualErrors(s, card(t, "L4")), r.Residual(s, card(t, "L4"), nil); got.Low > usual.Low || got.High < usual.High || got.Low > -0.01 || got.High < 0.02 {
		t.Errorf("another card: %+v, usual is %+v", got, usual)
	}
}

// Earlier measurements on this machine apply to the same card and PyTorch.
func TestPast(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.db")
	s, h200 := gpt2(t), card(t, "H200")
	var none *Past
	if none.Residual(s, h200) != nil || OpenPast(file, "H200") != nil {
		t.Error("a result without a store")
	}
	none.Close()
	kept, err := store.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := kept.Add(store.Run{Card: "H200", Torch: "2.11.0", Family: "gpt2", Model: "m", Predicted: 1 << 30, Reserved: 1<<30 + 1<<28}); err != nil {
			t.Fatal(err)
		}
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	if OpenPast(file, "") != nil {
		t.Error("a store was opened without a card")
	}
	past := OpenPast(file, "H200")
	defer past.Close()
	want := &estimate.Range{Cases: 3, Low: 0.25, High: 0.25}
	s.Versions.Torch = "2.11.0"
	if diff := cmp.Diff(want, past.Residual(s, h200)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, compared(1.02).Residual(s, h200, past)); diff != "" {
		t.Errorf("with today's runs: %s", diff)
	}
	for name, change := range map[string]func(*setup.Setup){
		"torch": func(s *setup.Setup) { s.Versions.Torch = "2.6.0" },
		"GPUs":  func(s *setup.Setup) { s.Dist = setup.Over("ddp", 2) },
	} {
		other := *s
		change(&other)
		if got := past.Residual(&other, h200); got != nil {
			t.Errorf("another %s: %+v", name, got)
		}
	}
	if got := past.Residual(s, card(t, "L4")); got != nil {
		t.Errorf("another card: %+v", got)
	}
}
