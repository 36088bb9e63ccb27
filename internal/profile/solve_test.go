// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"strings"
	"testing"

	"snug/internal/kernel"

	"pgregory.net/rapid"
)

func TestSolve(t *testing.T) {
	batch := [][]int64{{2}, {3}}
	three := [][]int64{{1}, {2}, {4}}
	both := [][]int64{{2, 128}, {3, 128}, {2, 192}, {3, 256}}
	tests := map[string]struct {
		points [][]int64
		sizes  []uint64
		want   string
		how    Certainty
	}{
		"constant":                   {batch, []uint64{512, 512}, "512", Exact},
		"proportional to the batch":  {batch, []uint64{1024, 1536}, "512·batch", Exact},
		"proportional to its square": {batch, []uint64{16, 36}, "4·batch·batch", Exact},
		"a constant and a term":      {batch, []uint64{1040, 1552}, "16 + 512·batch", Fitted},
		"one less":                   {batch, []uint64{8, 16}, "-8 + 8·batch", Fitted},
		"three, confirmed":           {three, []uint64{528, 1040, 2064}, "16 + 512·batch", Exact},
		"a batch of one is special":  {three, []uint64{100, 1024, 2048}, "512·batch", Exact},
		"batch and seq":              {both, []uint64{2048, 3072, 3072, 6144}, "8·batch·seq", Exact},
		"seq squared":                {both, []uint64{32768, 49152, 73728, 196608}, "1·batch·seq·seq", Exact},
		"shrinks":                    {batch, []uint64{1024, 512}, "", 0},
		"three without a formula":    {three, []uint64{100, 1024, 1000}, "", 0},
	}
	names := []string{"batch", "seq"}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSolver(monomials(len(tt.points[0])), tt.points)
			var obs []observation
			for i, size := range tt.sizes {
				obs = append(obs, observation{i, size})
			}
			f := s.solve(obs)
			switch {
			case f == nil && tt.want != "":
				t.Errorf("no formula, want %s", tt.want)
			case f != nil && (f.text(names, s.monos) != tt.want || f.certainty != tt.how):
				t.Errorf("got %s (%d), want %s (%d)", f.text(names, s.monos), f.certainty, tt.want, tt.how)
			}
		})
	}
}

// TestFormulasGiveWhatWasObserved checks that every formula found gives the observed sizes.
func TestFormulasGiveWhatWasObserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		points := [][]int64{{2}, {3}, {5}}
		s := newSolver(monomials(1), points)
		var obs []observation
		for i := range points {
			if size := rapid.Uint64Range(1, 1<<30).Draw(t, "size"); rapid.Bool().Draw(t, "seen") || i == 0 {
				obs = append(obs, observation{i, size})
			}
		}
		f := s.formula(obs)
		if len(obs) == 1 {
			f = s.alone(obs[0])
		}
		p := &Program{monos: s.monos}
		for _, o := range obs {
			got, err := f.bytes(kernel.Rules{}, p.at(points[o.recording]), points[o.recording], o.recording)
			if err != nil || got != o.size {
				t.Fatalf("%s gives %d at %v (%v), want %d", f.text([]string{"batch"}, s.monos), got, points[o.recording], err, o.size)
			}
		}
	})
}

// text returns f with the names of the quantities.
func (f *formula) text(names []string, monos []monomial) string {
	var parts []string
	for _, t := range f.terms {
		part := fmt.Sprint(t.coef)
		for i, power := range monos[t.mono] {
			for range power {
				part += "·" + names[i]
			}
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " + ")
}
