// SPDX-License-Identifier: Apache-2.0

package estimate

import (
	"encoding/json"
	"testing"

	"snug/internal/gpu"
	"snug/internal/setup"
)

func courseOf(t *testing.T, text string) (*Answer, Course) {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		t.Fatal(err)
	}
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := Estimate(s, gpu.Reference)
	if err != nil {
		t.Fatal(err)
	}
	c, err := a.Course()
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

// TestCourse checks that the peaks of a run's parts match those of the whole run.
func TestCourse(t *testing.T) {
	a, c := courseOf(t, `{"model": {"name": "gpt2"}, "batch": 8, "seq": 512}`)
	if len(c.Steps) != 3 || !c.Even {
		t.Fatalf("%d steps, even %t", len(c.Steps), c.Even)
	}
	if c.Load.Allocated != a.Phases.Load || c.Steps[2].Allocated != a.PeakAllocated || c.Steps[2].Reserved != a.PeakReserved {
		t.Errorf("got %+v for %+v", c, a.Phases)
	}
	// The first step has no optimizer states in its forward and backward passes.
	if c.Steps[0].Allocated >= c.Steps[1].Allocated || c.Held <= c.Load.Allocated || c.Held >= c.Steps[1].Allocated {
		t.Errorf("steps %+v, held %d", c.Steps, c.Held)
	}
	if c.Evaluation != (Peaks{}) || c.AfterEval != (Peaks{}) {
		t.Errorf("an evaluation: %+v", c)
	}
}

// TestCourseEvaluates checks a run with an evaluation that takes more memory than its steps, so that the steps
// before and after it differ.
func TestCourseEvaluates(t *testing.T) {
	a, c := courseOf(t, `{"model": {"name": "gpt2"}, "batch": 2, "seq": 64, "evaluation": {"batch": 64}}`)
	if c.Evaluation.Allocated != a.Phases.Evaluation || c.Evaluation.Reserved != a.PeakReserved {
		t.Errorf("evaluation %+v, of %+v and %d reserved", c.Evaluation, a.Phases, a.PeakReserved)
	}
	last := c.Steps[len(c.Steps)-1]
	if len(c.Steps) != 3 || c.AfterEval.Reserved != a.PeakReserved || last.Reserved >= c.AfterEval.Reserved {
		t.Errorf("steps %+v, after the evaluation %+v", c.Steps, c.AfterEval)
	}
}

// TestCourseOfLoops checks a model that runs token by token: its loops are unfolded first.
func TestCourseOfLoops(t *testing.T) {
	a, c := courseOf(t, `{"model": {"name": "mamba-130m"}, "batch": 1, "seq": 64}`)
	if last := c.Steps[len(c.Steps)-1]; len(c.Steps) != 3 || last.Allocated != a.PeakAllocated || last.Reserved != a.PeakReserved {
		t.Errorf("got %+v, want %d and %d", c.Steps, a.PeakAllocated, a.PeakReserved)
	}
}
