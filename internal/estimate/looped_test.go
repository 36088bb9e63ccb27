// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/pysrc"
	"snug/internal/setup"
	"snug/internal/simulate"
)

// mamba returns the setup of a model that runs token by token.
func mamba(more map[string]any) map[string]any {
	fields := map[string]any{"model": map[string]any{"name": "mamba-130m"}, "batch": 1.0, "seq": 100.0}
	maps.Copy(fields, more)
	return fields
}

// TestLoopsAsWrittenOut checks that runs with folded and with unfolded loops give the same figures, with and without
// limits.
func TestLoopsAsWrittenOut(t *testing.T) {
	for name, more := range map[string]map[string]any{
		"plain":         {},
		"longer":        {"seq": 701.0},
		"batch":         {"batch": 7.0, "seq": 333.0},
		"checkpointing": {"batch": 3.0, "seq": 257.0, "checkpointing": true},
		"accumulation":  {"batch": 2.0, "accumulation": 4.0},
		"amp":           {"batch": 5.0, "precision": "amp-bf16"},
		"bf16":          {"batch": 3.0, "seq": 411.0, "precision": "bf16"},
		"sgd":           {"optimizer": "sgd", "seq": 222.0},
		"wider":         {"model": map[string]any{"name": "mamba-790m"}, "seq": 129.0},
	} {
		t.Run(name, func(t *testing.T) {
			s := named(t, mamba(more))
			made, err := simulate.Run(s, simulate.Options{Card: anyCard(), Folds: true})
			if err != nil || made.Loops == nil {
				t.Fatal("no loops are folded", err)
			}
			folded, trace := runOf(made, true), made.Loops
			whole, _ := trace.Unfold()
			written := &run{trace: whole}
			limit := uint64(0)
			for _, percent := range []uint64{100, 97, 80, 100} {
				got, gotPhases := figures(t, folded, more, limit)
				want, wantPhases := figures(t, written, more, limit)
				got.work, want.work = 0, 0
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(played{})) + cmp.Diff(wantPhases, gotPhases); diff != "" {
					t.Fatalf("limit %d (-unfolded +folded):\n%s", limit, diff)
				}
				if limit == 0 {
					limit = got.PeakReserved
				}
				limit = limit * percent / 100
			}
		})
	}
}

func figures(t *testing.T, r *run, more map[string]any, limit uint64) (played, []uint64) {
	t.Helper()
	phases := make([]uint64, simulate.Optimizer+1)
	got, err := r.play(named(t, mamba(more)), anyCard(), limit, playing{phases: phases, brief: true, work: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	return got, phases
}

// TestTooLong checks that a run that is too long or too large is refused after a limited amount of work, with the
// field, the limit and what to do.
func TestTooLong(t *testing.T) {
	for _, c := range []struct {
		more map[string]any
		want []string
	}{
		{map[string]any{"seq": 1e6}, []string{"seq 1000000", "4.0 million", "250000 memory segments", "shorten seq"}},
		{map[string]any{"seq": 1e6, "batch": 64.0}, []string{"8 TiB", "lower batch"}},
		{map[string]any{"model": map[string]any{"name": "mamba-2.8b"}, "seq": 1e6, "batch": 16.0}, []string{"1.0 million", "lower batch"}},
		{map[string]any{"seq": 8192.0, "allocator": "expandable_segments:True"}, []string{"allocator", "3.3 million", "reaches at seq 20"}},
		{map[string]any{"seq": 8192.0, "versions": map[string]any{"torch": "2.12"}}, []string{"versions.torch 2.12", "use PyTorch 2.11"}},
	} {
		_, err := Estimate(named(t, mamba(c.more)), anyCard())
		var beyond LimitError
		if !errors.As(err, &beyond) {
			t.Errorf("%v: %v", c.more, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v: %q does not contain %q in one line", c.more, err, want)
			}
		}
	}
}

// TestManyLayers checks that a model with very many layers and loops is refused because of its layers, before it is
// simulated.
func TestManyLayers(t *testing.T) {
	config := map[string]any{"model_type": "mamba", "hidden_size": 64.0, "vocab_size": 100.0, "num_hidden_layers": 1000.0}
	s := named(t, mamba(map[string]any{"model": map[string]any{"config": config}, "seq": 2048.0}))
	allocs := testing.AllocsPerRun(1, func() {
		_, err := Estimate(s, anyCard())
		if err == nil || !strings.Contains(err.Error(), "at most 256 layers") {
			t.Errorf("got %v", err)
		}
	})
	if allocs > 10_000 {
		t.Errorf("%.0f heap allocations before it is refused", allocs)
	}
}

// TestTooLongLoop checks that the advice for a loop that is too long names a file only if there is one.
func TestTooLongLoop(t *testing.T) {
	for loop, want := range map[*setup.Script]string{
		{Name: "trl-dpo"}:                     "snug profile -- <your command>",
		{File: &pysrc.File{Path: "train.py"}}: "snug profile -- python3 train.py",
	} {
		s := &setup.Setup{Script: loop, Loop: loop.Path()}
		if err := limitError(s, 0, simulate.ErrTooLong); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %q, want it to end in %q", s.Loop, err, want)
		}
	}
}
