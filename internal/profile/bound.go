// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"math"
	"slices"
)

// bound returns the formula for sizes that no simple formula explains, because they depend on data (such as the
// tokens routed to an expert) or on a kernel that changed. It grows with all quantities, by the largest share seen,
// and is exact at the recorded sizes.
func (s *solver) bound(obs []observation) *formula {
	mono := s.product()
	share := 0.0
	for _, o := range obs {
		share = max(share, float64(o.size)/float64(s.values[o.recording][mono]))
	}
	return &formula{terms: []term{{int64(math.Ceil(share)), uint8(mono)}}, seen: slices.Clone(obs), certainty: Bounded}
}

// alone returns the formula for an allocation that only one recording has. If its size is divisible by all
// quantities, it grows with them; otherwise it is constant.
func (s *solver) alone(o observation) *formula {
	for mono := s.product(); mono > 0; mono-- {
		if v := uint64(s.values[o.recording][mono]); s.monos[mono].flat() && v > 1 && o.size%v == 0 {
			return &formula{terms: []term{{int64(o.size / v), uint8(mono)}}, certainty: Fitted}
		}
	}
	return &formula{terms: []term{{int64(o.size), 0}}, certainty: Fitted}
}

// product returns the index of the monomial with every quantity to the first power.
func (s *solver) product() int {
	best := 0
	for i, m := range s.monos {
		if m.flat() && m.degree() > s.monos[best].degree() {
			best = i
		}
	}
	return best
}

// scaled returns terms times a factor, rounded up, with more added to the constant.
func scaled(terms []term, factor float64, more int64) []term {
	var out []term
	if more > 0 {
		out = append(out, term{more, 0})
	}
	for _, t := range terms {
		if c := int64(math.Ceil(float64(t.coef) * factor)); c != 0 {
			out = append(out, term{c, t.mono})
		}
	}
	return out
}
