// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/stream"
)

// keeping returns a setup whose gradients are kept between steps.
func keeping(s *setup.Setup) *setup.Setup {
	no := false
	s.SetToNone = &no
	return s
}

// TestKeptGradientsStay checks that a run that keeps its gradients has exactly their bytes more allocated after each
// step.
func TestKeptGradientsStay(t *testing.T) {
	dropped, kept := aliveAfterSteps(t, smallLlama()), aliveAfterSteps(t, keeping(smallLlama()))
	_, trained := smallLlamaCount(t)
	for i := range dropped {
		if got, want := kept[i]-dropped[i], 2*uint64(trained); got != want {
			t.Errorf("step %d: %d more bytes remain, want the %d of gradients", i, got, want)
		}
	}
}

// TestKeptGradientsAreAddedTo checks that a micro-batch that finds the last step's gradients allocates the same
// memory as one that finds those of the previous micro-batch.
func TestKeptGradientsAreAddedTo(t *testing.T) {
	for _, precision := range []string{"fp32", "amp-bf16", "amp-fp16", "bf16"} {
		kept, twice := keeping(smallLlama()), smallLlama()
		kept.Precision, twice.Precision, twice.Accumulation = precision, precision, 2
		got, want := microSizes(t, kept), microSizes(t, twice)
		if diff := cmp.Diff(want[3], got[1]); diff != "" { // the last micro-batch of the second step in each
			t.Errorf("%s: a second micro-batch (-) and one of a second step (+):\n%s", precision, diff)
		}
	}
}

// microSizes returns the sizes that each micro-batch allocates and frees, in order.
func microSizes(t *testing.T, s *setup.Setup) [][]int64 {
	t.Helper()
	var from, to []int
	res, err := Run(s, Options{Log: func(w *shadow.World, op string) {
		switch at := len(w.Trace.Events); {
		case op == "# step: batch":
			from = append(from, at)
		case strings.HasPrefix(op, "# backward done"):
			to = append(to, at)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[uint32]int64{}
	out := make([][]int64, len(to))
	micro := 0
	for i, e := range res.World.Trace.Events {
		for micro < len(to)-1 && i >= to[micro] {
			micro++
		}
		inside := i >= from[micro] && i < to[micro]
		switch {
		case e.Kind == stream.Alloc:
			sizes[e.ID] = int64(e.Size)
			if inside {
				out[micro] = append(out[micro], int64(e.Size))
			}
		case e.Kind == stream.Free && inside:
			out[micro] = append(out[micro], -sizes[e.ID])
		}
	}
	return out
}

// TestKeptGradientsAreWritten checks that copied steps equal simulated ones.
func TestKeptGradientsAreWritten(t *testing.T) {
	for _, accumulation := range []int{1, 3} {
		s := keeping(smallLlama())
		s.Accumulation, s.Steps = accumulation, 5
		quick, err := Run(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Run(s, Options{Log: func(*shadow.World, string) {}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole.World.Trace.Events, quick.World.Trace.Events); diff != "" {
			t.Errorf("accumulation %d: the streams differ (-run +written):\n%.2000s", accumulation, diff)
		}
	}
}

func TestKeptGradientsOnSeveralGPUs(t *testing.T) {
	s := keeping(smallLlama())
	s.Dist = setup.Over(setup.DDP, 2)
	if _, err := Run(s, Options{}); err == nil || !strings.Contains(err.Error(), "set_to_none is false, but with dist.kind ddp") {
		t.Error(err)
	}
}
