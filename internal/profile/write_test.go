// SPDX-License-Identifier: Apache-2.0

package profile

import "testing"

// TestElected checks that ties are decided by the formulas and the order of first appearance. A map's order would
// give different profiles for the same recordings.
func TestElected(t *testing.T) {
	small, large := &formula{terms: []term{{4, 0}}}, &formula{terms: []term{{8, 0}}}
	slow, quick := &formula{terms: []term{{4, 1}}}, &formula{terms: []term{{4, 2}}}
	tests := map[string]struct {
		votes []*formula
		want  *formula
	}{
		"nobody":          {nil, nil},
		"most":            {[]*formula{quick, small, small}, small},
		"growing":         {[]*formula{small, slow, large}, slow},
		"first growing":   {[]*formula{small, quick, slow}, quick},
		"first constant":  {[]*formula{large, small}, large},
		"growing is kept": {[]*formula{slow, small, quick}, slow},
	}
	for name, test := range tests {
		for range 20 { // a map's order differs from run to run
			count := tally{votes: map[*formula]int{}}
			for _, f := range test.votes {
				count.add(f)
			}
			if got := count.elected(); got != test.want {
				t.Fatalf("%s: elected %+v, want %+v", name, got, test.want)
			}
		}
	}
}
