// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/term"
	"snug/internal/units"
	"snug/internal/watch"
	"snug/internal/watch/export"
)

// chart draws memory over the whole run in the given number of rows: what steps used and PyTorch reserved if a
// process reports steps, otherwise the memory in use on the card.
func (c Canvas) chart(v watch.View, rows int) []string {
	if rows < leastChart {
		return nil
	}
	x := c.series(v)
	if len(x.outer) < 2 {
		return nil
	}
	s := term.Screen{Unicode: c.Unicode}
	most := x.most()
	if float64(most) > smallShare*x.capacity {
		most = max(most, uint64(x.capacity))
		x.what += ", of " + units.Bytes(x.capacity).String()
	}
	const margin = 12 // the label and the axis
	width := c.Width - margin
	lines := s.Chart(term.Chart{
		Inner: stretch(x.inner, width), Outer: stretch(x.outer, width), Height: rows - 3, Full: most, Top: fmt.Sprintf("%10s", units.Bytes(most)), Mark: -1,
		Line: stretch(x.line, width),
	})
	axis := c.apartIn(width, x.from, x.to)
	return append(append([]string{c.dim(x.what)}, lines...), c.dim(fmt.Sprintf("%*s%s", margin, "", axis)))
}

func (c Canvas) apartIn(width int, left, right string) string {
	narrow := c
	narrow.Width = width
	return narrow.apart(left, right)
}

// smallShare is the fraction of the memory below which a curve gets its own scale, because at the card's scale it
// would be flat.
const smallShare = 0.2

// series is the data of a curve.
type series struct {
	inner, outer []uint64
	line         []uint64 // the prediction; nil if there is none
	from, to     string   // labels of the curve's ends
	what         string   // title of the curve
	capacity     float64  // the available memory
}

func (x series) most() uint64 {
	most := uint64(0)
	for _, y := range append(slices.Clone(x.outer), x.line...) {
		most = max(most, y)
	}
	return most
}

func (c Canvas) series(v watch.View) series {
	index := watch.Device{}
	if len(v.Cards) > 0 {
		index = v.Cards[c.Card%len(v.Cards)].Device()
	}
	for _, p := range v.Processes {
		if p.Watched && len(p.Curve) > 1 && (p.GPU == index || len(v.Cards) < 2) {
			return c.steps(p)
		}
	}
	x := series{what: fmt.Sprintf("memory in use on %v", index)}
	for _, card := range v.Cards {
		if card.Device() != index {
			continue
		}
		x.capacity = float64(card.Total)
		for _, p := range card.Curve {
			x.inner, x.outer = append(x.inner, uint64(p.Used)), append(x.outer, uint64(p.Used))
		}
		if n := len(card.Curve); n > 0 {
			x.from, x.to = export.Clock(card.Curve[0].T), export.Clock(card.Curve[n-1].T)
		}
	}
	return x
}

// steps returns the curve of a process that reports its steps.
func (c Canvas) steps(p watch.ProcessView) series {
	s := term.Screen{Unicode: c.Unicode}
	x := series{capacity: p.Capacity, what: fmt.Sprintf("memory of process %d: %s used by steps  %s kept by PyTorch", p.PID, s.Solid(), s.Shade())}
	if p.Rank != nil {
		x.what = strings.Replace(x.what, "process", fmt.Sprintf("rank %d, process", *p.Rank), 1)
	}
	predicted := false
	for _, y := range p.Curve {
		x.inner, x.outer = append(x.inner, uint64(y.Peak)), append(x.outer, uint64(max(y.Reserved, y.Peak)))
		x.line = append(x.line, uint64(y.Predicted.Allocated))
		predicted = predicted || y.Predicted.Allocated > 0
	}
	if predicted {
		x.what = strings.TrimPrefix(x.what, "memory of ") + fmt.Sprintf("  %s predicted", strings.Repeat(s.Stroke(), 2))
	} else {
		x.line = nil
	}
	x.from, x.to = fmt.Sprintf("step %d", p.Curve[0].Step), fmt.Sprintf("step %d", p.Curve[len(p.Curve)-1].Step)
	return x
}

// stretch returns the series resampled to a width: the largest value where several fall into one column, repeated
// values where there are fewer values than columns.
func stretch(values []uint64, width int) []uint64 {
	if values == nil {
		return nil
	}
	out := make([]uint64, width)
	for i := range out {
		first, last := i*len(values)/width, max(i*len(values)/width+1, (i+1)*len(values)/width)
		for _, y := range values[first:min(last, len(values))] {
			out[i] = max(out[i], y)
		}
	}
	return out
}
