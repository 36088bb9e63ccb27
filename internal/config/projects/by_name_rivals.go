// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"slices"
)

// maxRivals limits how many other places a note lists.
const maxRivals = 8

// claims contains the candidates for one setting, and which of them are equally likely: those with the same
// rank but a different value. A program with a thousand functions may have a thousand candidates, so
// candidates with equal rank and value are stored together.
type claims struct {
	of     []candidate
	places []valuePlace
	ranks  map[int][]*claim
}

// valuePlace identifies a value by its position, because two paths may lead to it.
type valuePlace struct {
	file  string
	start int
	known bool
}

// claim contains the candidates with the same rank and value.
type claim struct {
	place      valuePlace
	candidates []int
}

func (s *Source) claims(of []candidate) *claims {
	c := &claims{of: of, places: make([]valuePlace, len(of)), ranks: map[int][]*claim{}}
	if len(of) < 2 {
		return c
	}
	type spot struct {
		rank  int
		place valuePlace
	}
	there := map[spot]*claim{}
	for i, o := range of {
		if at, err := s.Tree.Find(o.path); err == nil {
			c.places[i] = valuePlace{at.File, at.Value.Start, true}
		}
		k := spot{o.rank, c.places[i]}
		if there[k] == nil {
			there[k] = &claim{place: c.places[i]}
			c.ranks[o.rank] = append(c.ranks[o.rank], there[k])
		}
		there[k].candidates = append(there[k].candidates, i)
	}
	return c
}

// rivals returns the other places that are as likely as candidate i, in file order.
func (c *claims) rivals(i int) []string {
	var others []int
	for _, claim := range c.ranks[c.of[i].rank] {
		if claim.place.known && claim.place == c.places[i] {
			continue // the same value, reached by two paths
		}
		for _, o := range claim.candidates[:min(len(claim.candidates), maxRivals+2)] {
			if !c.of[o].path.Equal(c.of[i].path) {
				others = append(others, o)
			}
		}
		if len(others) > maxRivals {
			break
		}
	}
	slices.Sort(others)
	var out []string
	for n, o := range others {
		if n == maxRivals {
			return append(out, "others")
		}
		out = append(out, fmt.Sprintf("%s (line %d)", c.of[o].path, c.of[o].value.Line))
	}
	return out
}
