// SPDX-License-Identifier: Apache-2.0

package loops

// compact drops the roles of pieces that appear and disappear within a shortcut, unless a tie or a guard refers to
// them.
func (s *shortcut) compact() {
	now := make([]int32, len(s.roles))
	for _, t := range s.ties {
		now[t.low], now[t.high] = 1, 1
	}
	for _, g := range s.guards {
		for _, r := range g.roles {
			now[r] = 1
		}
	}
	kept := s.roles[:0]
	for k := range s.roles {
		if r := s.roles[k]; r.how != born || r.after != none || now[k] == 1 {
			now[k] = int32(len(kept))
			kept = append(kept, r)
		} else {
			now[k] = none
		}
	}
	if s.roles = kept; len(kept) < len(now) {
		s.renumber(now)
	}
}

// renumber applies the new numbers of roles to everything that refers to them.
func (s *shortcut) renumber(now []int32) {
	to := func(r *int32) {
		if *r >= 0 {
			*r = now[*r]
		}
	}
	for k := range s.roles {
		r := &s.roles[k]
		for _, x := range []*int32{&r.of, &r.left, &r.right, &r.prev, &r.next} {
			to(x)
		}
	}
	for k := range s.ties {
		to(&s.ties[k].low)
		to(&s.ties[k].high)
	}
	for k := range s.deeper {
		to(&s.deeper[k].role)
		to(&s.deeper[k].than)
	}
	for k := range s.guards {
		g := &s.guards[k]
		for i := range g.roles {
			to(&g.roles[i])
		}
		for i := range g.voids {
			to(&g.voids[i].role)
		}
	}
	for _, all := range [][]spread{s.frees, s.leaves} {
		for k := range all {
			to(&all[k].role)
		}
	}
}
