// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"math"
	"slices"
)

// Each step has its own size, so there are many more observations than terms in a formula. The solver tries sums of a
// few products of the quantities and uses the first that gives every observed size to the byte.

// sums finds formulas over many points.
type sums struct {
	monos  []monomial
	values [][]int64   // by point, by monomial
	floats [][]float64 // values as floats
	seen   map[string]*formula
}

func newSums(monos []monomial, points [][]int64) *sums {
	s := &sums{monos: monos, seen: map[string]*formula{}}
	for _, p := range points {
		v, f := make([]int64, len(monos)), make([]float64, len(monos))
		for i, m := range monos {
			f[i] = m.at(p)
			if v[i] = math.MaxInt64; f[i] < maxBytes {
				v[i] = m.exact(p)
			}
		}
		s.values, s.floats = append(s.values, v), append(s.floats, f)
	}
	return s
}

// solve returns the simplest formula with at most this many terms, or nil if there is none.
func (s *sums) solve(obs []observation, parts int) *formula {
	key := binary.AppendUvarint(nil, uint64(parts))
	for _, o := range obs {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(o.recording)), o.size)
	}
	f, ok := s.seen[string(key)]
	if !ok {
		f = s.search(obs, parts)
		s.seen[string(key)] = f
	}
	return f
}

func (s *sums) search(obs []observation, parts int) *formula {
	distinct := s.distinct(obs)
	for n := 1; n <= parts && n <= max(distinct-1, 1); n++ {
		for choice := range choices(len(s.monos), n) {
			if terms := s.fit(obs, choice); terms != nil {
				f := &formula{terms: terms, certainty: Fitted}
				if distinct > n || n == 1 && terms[0].mono == 0 && len(obs) > 1 {
					f.certainty = Exact
				}
				return f
			}
		}
	}
	return nil
}

// distinct counts the distinct points among the observations.
func (s *sums) distinct(obs []observation) int {
	n := 0
	for i, o := range obs {
		if !slices.ContainsFunc(obs[:i], func(x observation) bool { return slices.Equal(s.values[x.recording], s.values[o.recording]) }) {
			n++
		}
	}
	return n
}

// choices yields every choice of k out of n numbers, in ascending order.
func choices(n, k int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		c := make([]int, k)
		for i := range c {
			c[i] = i
		}
		for k <= n {
			if !yield(c) {
				return
			}
			i := k - 1
			for i >= 0 && c[i] == n-k+i {
				i--
			}
			if i < 0 {
				return
			}
			c[i]++
			for j := i + 1; j < k; j++ {
				c[j] = c[j-1] + 1
			}
		}
	}
}

// about returns the simplest sum that gives every size to within a block of the allocator, or nil if there is none.
// cuDNN rounds up the parts of a workspace, so no sum gives the sizes of a recurrent layer to the byte.
func (s *sums) about(obs []observation) *formula {
	distinct := s.distinct(obs)
	for n := 1; n <= maxTerms && n < distinct; n++ {
		for choice := range choices(len(s.monos), n) {
			if terms := s.near(obs, choice); terms != nil {
				return &formula{terms: terms, certainty: Exact}
			}
		}
	}
	return nil
}

// near returns coefficients of the chosen products that give every size to within a block.
func (s *sums) near(obs []observation, choice []int) []term {
	coefs, ok := s.leastSquares(obs, choice)
	if !ok {
		return nil
	}
	for _, o := range obs {
		sum := -float64(o.size)
		for i, c := range coefs {
			sum += c * s.floats[o.recording][choice[i]]
		}
		if math.Abs(sum) > quantum || o.size < tinyBytes {
			return nil
		}
	}
	var terms []term
	for i, c := range coefs {
		if r := math.Round(c); r != 0 {
			terms = append(terms, term{int64(r), uint8(choice[i])})
		}
	}
	return terms
}

// fit returns the coefficients of the chosen products if integers give every size exactly, otherwise nil.
func (s *sums) fit(obs []observation, choice []int) []term {
	coefs, ok := s.leastSquares(obs, choice)
	if !ok {
		return nil
	}
	terms := make([]term, len(choice))
	for i, c := range coefs {
		r := math.Round(c)
		if r == 0 || math.Abs(r) > maxBytes || math.Abs(c-r) > 0.01 {
			return nil
		}
		terms[i] = term{int64(r), uint8(choice[i])}
	}
	for _, o := range obs {
		sum := int64(0)
		for _, t := range terms {
			sum += t.coef * s.values[o.recording][t.mono]
		}
		if sum != int64(o.size) {
			return nil
		}
	}
	return terms
}

// leastSquares solves for up to three coefficients. The columns are scaled to about one, which keeps the sums
// accurate enough to round the result.
func (s *sums) leastSquares(obs []observation, choice []int) ([]float64, bool) {
	var m [maxTerms][maxTerms + 1]float64
	var scale [maxTerms]float64
	k := len(choice)
	for i, c := range choice {
		for _, o := range obs {
			scale[i] = max(scale[i], s.floats[o.recording][c])
		}
	}
	for _, o := range obs {
		x := s.floats[o.recording]
		for i := range k {
			a := x[choice[i]] / scale[i]
			for j := range k {
				m[i][j] += a * x[choice[j]] / scale[j]
			}
			m[i][k] += a * float64(o.size)
		}
	}
	for col := range k {
		if m[col][col] < 1e-9 {
			return nil, false
		}
		for r := range k {
			if r == col {
				continue
			}
			by := m[r][col] / m[col][col]
			for c := col; c <= k; c++ {
				m[r][c] -= by * m[col][c]
			}
		}
	}
	out := make([]float64, k)
	for i := range k {
		out[i] = m[i][k] / m[i][i] / scale[i]
	}
	return out, true
}

// nearest returns the formula for sizes that no sum explains: a multiple of the product that they follow most
// closely, with the largest multiple seen. Sizes that follow no product, such as those that depend on individual
// samples, are assumed to grow only with the run, from their mean.
func (s *sums) nearest(obs []observation, run int) *formula {
	best, least, coef := 0, math.Inf(1), 0.0
	for i, m := range s.monos {
		low, high := s.shares(obs, i)
		if spread := high / max(low, 1e-9); m.degree() <= 2 && spread < 0.999*least {
			best, least, coef = i, spread, high
		}
	}
	if least > followed {
		best, coef = s.first(run), 0
		for _, o := range obs {
			coef += float64(o.size) / s.floats[o.recording][best] / float64(len(obs))
		}
	}
	return &formula{terms: []term{{int64(math.Ceil(coef)), uint8(best)}}, certainty: Bounded}
}

// followed is the largest ratio between multiples of a product for which sizes still follow it.
const followed = 1.3

// shares returns the smallest and the largest multiple of a product among the sizes.
func (s *sums) shares(obs []observation, mono int) (low, high float64) {
	low = math.Inf(1)
	for _, o := range obs {
		share := float64(o.size) / s.floats[o.recording][mono]
		low, high = min(low, share), max(high, share)
	}
	return low, high
}

// first returns the index of the product that consists of this quantity alone, or 0.
func (s *sums) first(quantity int) int {
	for i, m := range s.monos {
		if m.degree() == 1 && quantity >= 0 && m[quantity] == 1 {
			return i
		}
	}
	return 0
}
