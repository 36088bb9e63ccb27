// SPDX-License-Identifier: Apache-2.0

package plan

import "snug/internal/setup"

// leverSet is a set of levers from the table of settings, one bit each, so that settings are comparable.
type leverSet uint64

// pull applies the levers of the set to a setup.
func (p leverSet) pull(s *setup.Setup) {
	if p == 0 {
		return
	}
	for i, l := range setup.Levers() {
		if p&(1<<i) != 0 {
			l.Pull(s)
		}
	}
}

// tableLevers lists the levers in the table that the run could use. rounding selects those that round trained
// weights, or the others.
func (s *search) tableLevers(rounding bool) []lever {
	var out []lever
	for i, l := range setup.Levers() {
		if l.Rounds == rounding && l.Can(s.base) {
			out = append(out, lever{l.Change, l.Price, func(x *settings) { x.levers |= 1 << i }})
		}
	}
	return out
}
