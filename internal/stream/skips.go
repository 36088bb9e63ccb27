// SPDX-License-Identifier: Apache-2.0

package stream

import "slices"

// Skips lets a player skip the copies in a trace (see [Copy]). If a copy starts in the state in which the original
// stretch started, it does the same and ends in the same state. S describes the player's state: everything that
// determines what it does next. The zero value skips nothing.
type Skips[S comparable] struct {
	copies []Copy
	points []int     // the events at which a stretch or its copy begins, in order
	states map[int]S // the player's state at the points it has passed
}

// NewSkips finds the stretches of a trace that may be skipped.
func NewSkips[S comparable](t *Trace) Skips[S] {
	s := Skips[S]{states: map[int]S{}}
	for _, c := range t.Copies {
		if c.From+2*c.N <= len(t.Events) {
			s.copies = append(s.copies, c)
			s.points = append(s.points, c.From, c.From+c.N)
		}
	}
	slices.Sort(s.points)
	s.points = slices.Compact(s.points)
	return s
}

// Point returns the next event before which Pass must be called, or -1.
func (s *Skips[S]) Point() int {
	if len(s.points) == 0 {
		return -1
	}
	return s.points[0]
}

// Pass returns the event to continue with when the player is at event i, its Point, in the state now.
func (s *Skips[S]) Pass(i int, now S) int {
	s.states[i] = now
	s.points = s.points[1:]
	for _, c := range s.copies {
		if before, seen := s.states[c.From]; c.From+c.N == i && seen && before == now {
			i += c.N
			break
		}
	}
	for len(s.points) > 0 && s.points[0] < i {
		s.points = s.points[1:]
	}
	return i
}
