// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"testing"

	"snug/internal/estimate"
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
		{"a run that is too long", own, estimate.Beyond{}, true},
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
