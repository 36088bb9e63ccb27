// SPDX-License-Identifier: Apache-2.0

package term

import "strings"

// Chart shows two quantities in the same unit over time, the inner one never above the outer one: memory in use,
// solid, and reserved memory, as a shade around it.
type Chart struct {
	Inner, Outer []uint64 // one value per column
	Height       int      // rows
	Full         uint64   // the value at the top; 0 means the largest of both quantities
	Top          string   // the label of the highest row
	Mark         int      // a column to point at from below, -1 for none
	Line         []uint64 // a third quantity, drawn as a line over the others; not drawn where it is 0
}

// Chart draws c as lines, with the axis on the left.
func (s Screen) Chart(c Chart) []string {
	full := max(c.Full, 1)
	for i := range c.Outer {
		full = max(full, c.Outer[i], c.Inner[i])
	}
	for _, y := range c.Line {
		full = max(full, y)
	}
	margin := max(len(c.Top), 1)
	var lines []string
	for row := c.Height - 1; row >= 0; row-- {
		label := ""
		if row == c.Height-1 {
			label = c.Top
		}
		axis := s.pick(" │", " |")
		lines = append(lines, strings.TrimRight(pad(label, margin, right)+axis+s.chartRow(c, row, full), " "))
	}
	floor := s.pick("─", "-")
	lines = append(lines, pad("0", margin, right)+s.pick(" └", " +")+strings.Repeat(floor, len(c.Outer)))
	if c.Mark >= 0 {
		lines = append(lines, strings.Repeat(" ", margin+2+c.Mark)+s.pick("▲", "^"))
	}
	return lines
}

// chartRow returns one row of cells, bottom row 0.
func (s Screen) chartRow(c Chart, row int, full uint64) string {
	var b strings.Builder
	for i := range c.Outer {
		inner := scale(c.Inner[i], full, 8*c.Height) - 8*row
		outer := scale(c.Outer[i], full, 8*c.Height) - 8*row
		if c.Line != nil && c.Line[i] > 0 && (scale(c.Line[i], full, 8*c.Height)-1)/8 == row {
			b.WriteString(s.line(inner))
			continue
		}
		b.WriteString(s.cell(inner, outer))
	}
	return b.String()
}

// Stroke returns the character that a line is drawn with.
func (s Screen) Stroke() string { return s.pick("─", "-") }

// line returns one cell of a line. The line must be visible over a solid cell too.
func (s Screen) line(inner int) string {
	if inner >= 8 {
		return s.pick("▬", "=")
	}
	return s.Stroke()
}

// cell returns one cell, given how many of its eighths are covered by each quantity.
func (s Screen) cell(inner, outer int) string {
	switch {
	case inner >= 8:
		return s.pick("█", "#")
	case inner > 0 && s.Unicode:
		return string(rising[inner])
	case inner >= 4:
		return "#"
	case outer >= 4:
		return s.pick("░", ".")
	default:
		return " "
	}
}
