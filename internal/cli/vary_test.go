// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/profile"
)

func TestVaried(t *testing.T) {
	for _, c := range []struct {
		vary string
		want []profile.Point
	}{
		{"", []profile.Point{{}}},
		{"batch=2,3", []profile.Point{{"batch": 2}, {"batch": 3}}},
		{"batch=2,3 seq=128,192,256", []profile.Point{
			{"batch": 2, "seq": 128}, {"batch": 3, "seq": 128}, {"batch": 2, "seq": 192}, {"batch": 2, "seq": 256},
		}},
		{"batch=2 depth=4", []profile.Point{{"batch": 2, "depth": 4}}},
		{"depth=2,3 width=3,2", []profile.Point{{"depth": 2, "width": 3}, {"depth": 3, "width": 3}, {"depth": 2, "width": 2}}},
	} {
		got, err := varied(strings.Fields(c.vary))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", c.vary, err, diff)
		}
	}
}

func TestVariedRefuses(t *testing.T) {
	for vary, want := range map[string]string{
		"batch":              "--vary batch: write it like batch=2,3",
		"bs":                 "--vary bs: write it like batch=2,3",
		"batch=2,2":          "--vary batch=2,2: 2 appears twice",
		"batch=3,2,3":        "--vary batch=3,2,3: 3 appears twice",
		"batch=2 batch=3":    "--vary gives batch twice; combine its values: batch=2,3",
		"bs=2,3":             "--vary bs=2,3: use the name batch, as estimate, max-batch and optimize do: --vary batch=2,3, and {batch} in the command",
		"batch=0,1":          `--vary: batch is "0" in "batch=0"; it must be a whole number, at least 1`,
		"batch=" + numbers(): "--vary asks for 17 runs; two or three values for each quantity are enough",
	} {
		if _, err := varied(strings.Fields(vary)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", vary, err, want)
		}
	}
}

// numbers returns one more value than the limit on runs.
func numbers() string { return "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" }
