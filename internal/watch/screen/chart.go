// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"

	"snug/internal/term"
	"snug/internal/units"
	"snug/internal/watch"
)

// chart draws memory over the whole run, into so many rows: what steps used and what PyTorch reserved if a process
// reports steps, otherwise what is in use on the card.
func (c Canvas) chart(v watch.View, rows int) []string {
	if rows < leastChart {
		return nil
	}
	inner, outer, from, to, what := c.series(v)
	if len(outer) < 2 {
		return nil
	}
	s := term.Screen{Unicode: c.Unicode}
	most := uint64(0)
	for _, y := range outer {
		most = max(most, y)
	}
	const margin = 11 // the label and the axis
	width := c.Width - margin
	top := units.Bytes(most).String()
	lines := s.Chart(term.Chart{Inner: stretch(inner, width), Outer: stretch(outer, width), Height: rows - 3, Top: fmt.Sprintf("%9s", top), Mark: -1})
	axis := c.apartIn(width, from, to)
	return append(append([]string{c.dim(what)}, lines...), c.dim(fmt.Sprintf("%*s%s", margin, "", axis)))
}

func (c Canvas) apartIn(width int, left, right string) string {
	narrow := c
	narrow.Width = width
	return narrow.apart(left, right)
}

// series returns what the curve shows, and the labels of its ends.
func (c Canvas) series(v watch.View) (inner, outer []uint64, from, to, what string) {
	index := 0
	if len(v.Cards) > 0 {
		index = v.Cards[c.Card%len(v.Cards)].Index
	}
	for _, p := range v.Processes {
		if !p.Watched || len(p.Curve) < 2 || p.GPU != index && len(v.Cards) > 1 {
			continue
		}
		for _, x := range p.Curve {
			inner, outer = append(inner, uint64(x.Peak)), append(outer, uint64(max(x.Reserved, x.Peak)))
		}
		from, to = fmt.Sprintf("step %d", p.Curve[0].Step), fmt.Sprintf("step %d", p.Curve[len(p.Curve)-1].Step)
		s := term.Screen{Unicode: c.Unicode}
		return inner, outer, from, to, fmt.Sprintf("memory of process %d: %s used by steps  %s kept by PyTorch", p.PID, s.Solid(), s.Shade())
	}
	for _, x := range v.Cards {
		if x.Index != index {
			continue
		}
		for _, p := range x.Curve {
			inner, outer = append(inner, uint64(p.Used)), append(outer, uint64(p.Used))
		}
		if n := len(x.Curve); n > 0 {
			from, to = fmt.Sprintf("%.0f s", x.Curve[0].T), fmt.Sprintf("%.0f s", x.Curve[n-1].T)
		}
	}
	return inner, outer, from, to, fmt.Sprintf("memory in use on GPU %d", index)
}

// stretch returns a series of another length: the largest of what falls together, and the same again where there are
// fewer values than columns.
func stretch(values []uint64, width int) []uint64 {
	out := make([]uint64, width)
	for i := range out {
		first, last := i*len(values)/width, max(i*len(values)/width+1, (i+1)*len(values)/width)
		for _, y := range values[first:min(last, len(values))] {
			out[i] = max(out[i], y)
		}
	}
	return out
}
