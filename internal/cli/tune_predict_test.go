// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"snug/internal/estimate"
	"snug/internal/plan"
	"snug/internal/pysrc"
	"snug/internal/setup"
)

// TestUnfollowable checks that a script is recorded if its loop cannot be simulated, and not if the command is wrong.
func TestUnfollowable(t *testing.T) {
	own := &setup.Setup{Script: &setup.Script{File: &pysrc.File{}}}
	for _, c := range []struct {
		name string
		s    *setup.Setup
		err  error
		want bool
	}{
		{"no error", own, nil, false},
		{"a loop without a known model", own, setup.Wrong("{loop} train.py: it calls no model that snug knows"), true},
		{"a run that is too long", own, estimate.LimitError{}, true},
		{"a model that is not simulated", own, setup.Unsimulated("train.py builds its own model"), true},
		{"a wrong setting", own, setup.Wrong("{batch} is 0"), false},
		{"an error of the machine", own, errors.New("disk full"), false},
		{"no script", &setup.Setup{}, setup.Wrong("{loop} is wrong"), false},
	} {
		if got := unfollowable(c.s, c.err); got != c.want {
			t.Errorf("%s: unfollowable is %v, want %v", c.name, got, c.want)
		}
	}
}

// A candidate that fits because PyTorch flushes its cache is tried: it is predicted to take no more than the limit.
func TestFlushedCandidate(t *testing.T) {
	at := &tuner{base: &setup.Setup{Batch: 64, Accumulation: 3}}
	for _, c := range []struct {
		fits bool
		want uint64
	}{{true, 24 << 30}, {false, 28 << 30}} {
		got := at.candidate(plan.Candidate{Batch: 96, Accumulation: 2, World: 1, Reserved: 28 << 30, Limit: 24 << 30, Fits: c.fits}, nil)
		if got.Predicted != c.want {
			t.Errorf("fits %v: predicted %d, want %d", c.fits, got.Predicted, c.want)
		}
	}
}
