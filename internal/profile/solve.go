// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"encoding/binary"
	"math/big"
)

// solver finds the formula behind the sizes that one allocation has in several recordings. The same sizes occur
// thousands of times, so results are cached.
type solver struct {
	monos  []monomial // monomials that a formula may use; see formula.go
	points [][]int64  // by recording: values of the quantities
	values [][]int64  // by recording, by monomial
	seen   map[string]*formula
}

func newSolver(monos []monomial, points [][]int64) *solver {
	s := &solver{monos: monos, points: points, seen: map[string]*formula{}}
	for _, p := range points {
		var v []int64
		for _, m := range monos {
			v = append(v, m.exact(p))
		}
		s.values = append(s.values, v)
	}
	return s
}

// observation is the size of an allocation in a recording.
type observation struct {
	recording int
	size      uint64
}

// maxTerms is the largest number of terms in a formula. Real sizes need no more.
const maxTerms = 3

// solve returns the simplest formula that gives the observed sizes exactly, or nil if there is none. Fewer terms are
// simpler, then lower powers. Small sizes are often special (a batch of one, kernels for little work), so if three or
// more recordings have no common formula, it tries the larger ones alone.
func (s *solver) solve(obs []observation) *formula {
	key := make([]byte, 0, 64)
	for _, o := range obs {
		key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(o.recording)), o.size)
	}
	f, ok := s.seen[string(key)]
	if !ok {
		f = s.search(obs)
		s.seen[string(key)] = f
	}
	return f
}

// formula returns the formula that solve finds, or else a bound.
func (s *solver) formula(obs []observation) *formula {
	f := s.solve(obs)
	if f == nil {
		f = s.bound(obs)
	}
	return f
}

func (s *solver) search(obs []observation) *formula {
	for used := obs; len(used) >= 2; used = used[1:] {
		terms := len(used) - 1
		if len(obs) == 2 {
			terms = 2
		}
		for n := 1; n <= min(maxTerms, terms); n++ {
			if f := s.withTerms(used, n); f != nil {
				f.seen = obs[:len(obs)-len(used)]
				return f
			}
		}
	}
	return nil
}

// withTerms returns the first formula of n monomials that fits, or nil if none does. It tries every choice in order.
func (s *solver) withTerms(obs []observation, n int) *formula {
	choice := make([]int, n)
	for i := range choice {
		choice[i] = i
	}
	for {
		if f := s.fit(obs, choice); f != nil {
			return f
		}
		i := n - 1
		for i >= 0 && choice[i] == len(s.monos)-n+i {
			i--
		}
		if i < 0 {
			return nil
		}
		choice[i]++
		for k := i + 1; k < n; k++ {
			choice[k] = choice[k-1] + 1
		}
	}
}

// fit solves for the coefficients of the chosen monomials with the first
// observations that determine them, and checks the rest.
func (s *solver) fit(obs []observation, choice []int) *formula {
	coefs, ok := s.eliminate(obs, choice)
	if !ok {
		return nil
	}
	f := &formula{certainty: Fitted}
	if len(obs) > len(choice) {
		f.certainty = Exact
	}
	for i, c := range coefs {
		grows := s.monos[choice[i]].degree() > 0
		if !c.IsInt() || !c.Num().IsInt64() || c.Sign() == 0 || grows && c.Sign() < 0 {
			return nil
		}
		f.terms = append(f.terms, term{c.Num().Int64(), uint8(choice[i])})
	}
	return f
}

// eliminate performs Gaussian elimination in fractions, with all equations and one unknown per chosen monomial.
func (s *solver) eliminate(obs []observation, choice []int) ([]*big.Rat, bool) {
	n := len(choice)
	rows := make([][]*big.Rat, len(obs))
	for r, o := range obs {
		for _, c := range choice {
			rows[r] = append(rows[r], new(big.Rat).SetInt64(s.values[o.recording][c]))
		}
		rows[r] = append(rows[r], new(big.Rat).SetInt64(int64(o.size)))
	}
	for col := range n {
		pivot := col
		for pivot < len(rows) && rows[pivot][col].Sign() == 0 {
			pivot++
		}
		if pivot == len(rows) {
			return nil, false
		}
		rows[col], rows[pivot] = rows[pivot], rows[col]
		clearColumn(rows, col)
	}
	out := make([]*big.Rat, n)
	for i, row := range rows {
		if i < n {
			out[i] = new(big.Rat).Quo(row[n], row[i])
		} else if row[n].Sign() != 0 {
			return nil, false
		}
	}
	return out, true
}

// clearColumn eliminates a column from all rows except the pivot's.
func clearColumn(rows [][]*big.Rat, col int) {
	for r := range rows {
		if r == col || rows[r][col].Sign() == 0 {
			continue
		}
		factor := new(big.Rat).Quo(rows[r][col], rows[col][col])
		for c := range rows[r] {
			rows[r][c].Sub(rows[r][c], new(big.Rat).Mul(factor, rows[col][c]))
		}
	}
}
