// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFactsAreKept(t *testing.T) {
	p := fitted(t, transformer(2), transformer(3))
	on := true
	p.Facts = Facts{
		Model: "Tower", Params: 9, Trainable: 8, Gradients: 32, Checkpointing: &on, Accumulation: 2,
		Timings: []Timing{{Point{"batch": 2}, 0.25}},
	}
	q, err := Read(bytes.NewReader(saved(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.Facts, q.Facts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.Facts.Trainable = 10
	if _, err := Read(bytes.NewReader(saved(t, p))); err == nil {
		t.Error("a profile with more trained parameters than parameters was accepted")
	}
}

func TestSeconds(t *testing.T) {
	for _, c := range []struct {
		name         string
		took         map[int64]float64
		accumulation int
		want         float64 // seconds at batch 10
		grows        bool
	}{
		{"nothing timed", nil, 1, 0, false},
		{"one size", map[int64]float64{2: 0.1}, 1, 0.1, false},
		{"a line", map[int64]float64{2: 0.12, 3: 0.13}, 1, 0.2, true},
		{"two forwards a step", map[int64]float64{2: 0.24, 3: 0.26}, 2, 0.2, true},
		{"no slower with more", map[int64]float64{2: 0.13, 3: 0.12}, 1, 0.125, false},
		{"no fixed cost", map[int64]float64{2: 0.1, 3: 0.2}, 1, 0.6, true},
	} {
		p := &Program{Names: []string{"batch"}, Facts: Facts{Accumulation: c.accumulation}}
		for batch, s := range c.took {
			p.Facts.Timings = append(p.Facts.Timings, Timing{Point{"batch": batch}, s})
		}
		got, grows := p.Seconds(Point{"batch": 10})
		if math.Abs(got-c.want) > 1e-9 || grows != c.grows {
			t.Errorf("%s: %g, %t; want %g, %t", c.name, got, grows, c.want, c.grows)
		}
	}
}
