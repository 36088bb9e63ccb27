// SPDX-License-Identifier: Apache-2.0

package profile

import "slices"

// worthwhile is the share of all bytes that another quantity must explain to be chosen.
const worthwhile = 0.002

// choose picks the quantities that explain the most bytes, one after another, and returns their indices among the
// candidates.
func (r *raggedFitter) choose() []int {
	open, total := r.heaviest(), 0.0
	for _, f := range open {
		total += f.weight
	}
	var chosen []int
	for len(r.table.run)+len(chosen) < maxNames {
		best, most, rest := -1, worthwhile*total, open
		for c := range r.table.candidates {
			if slices.Contains(chosen, c) {
				continue
			}
			s := r.solver(append(slices.Clone(chosen), c))
			left, gain := unexplained(s, open)
			if gain > 1.001*most {
				best, most, rest = c, gain, left
			}
		}
		if best < 0 {
			break
		}
		chosen, open = append(chosen, best), rest
	}
	return chosen
}

// weighed is the observed sizes of one or more allocation families, and their total bytes.
type weighed struct {
	obs    []observation
	weight float64
}

// maxWeighed limits the work of choosing.
const maxWeighed = 160

// heaviest returns the sizes that change from step to step, largest total first.
func (r *raggedFitter) heaviest() []weighed {
	plain := r.solver(nil)
	index := map[string]int{}
	var out []weighed
	for _, f := range r.order {
		obs := r.members[f].obs
		if r.members[f].odd || plain.distinct(obs) < 1 || len(obs) < 3 || plain.solve(obs, 2) != nil {
			continue
		}
		key := textOf(obs)
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, weighed{obs: obs})
		}
		for _, o := range obs {
			out[i].weight += float64(o.size)
		}
	}
	slices.SortStableFunc(out, func(a, b weighed) int {
		switch {
		case a.weight > b.weight:
			return -1
		case a.weight < b.weight:
			return 1
		}
		return 0
	})
	return out[:min(len(out), maxWeighed)]
}

// unexplained returns the sizes without an exact formula in s, and the total weight of all others as gain.
func unexplained(s *sums, all []weighed) (left []weighed, gain float64) {
	for _, w := range all {
		if f := s.solve(w.obs, 2); f != nil && f.certainty == Exact {
			gain += w.weight
		} else {
			left = append(left, w)
		}
	}
	return left, gain
}

// solver returns a solver for the quantities of the run and the chosen candidates.
func (r *raggedFitter) solver(chosen []int) *sums {
	points := make([][]int64, len(r.table.values))
	for i, v := range r.table.values {
		points[i] = slices.Clone(v[:len(r.table.run)])
		for _, c := range chosen {
			points[i] = append(points[i], v[len(r.table.run)+c])
		}
	}
	return newSums(monomials(len(r.table.run)+len(chosen)), points)
}
