// SPDX-License-Identifier: Apache-2.0

package term

import (
	"strings"
	"unicode/utf8"
)

// Align is the alignment of a text in its column.
type Align bool

// The two alignments.
const (
	left  Align = false
	right Align = true
)

// Table is rows of cells under a header. Columns listed in Right are right-aligned, as numbers should be.
type Table struct {
	Header []string   // one cell for each column; nil means no header
	Rows   [][]string // the cells
	Right  []int      // indices of right-aligned columns
	Indent int        // spaces before each line
}

// gap is the number of spaces between columns.
const gap = 2

// Table returns the lines of t. The first column is truncated if the table would be too wide.
func (s Screen) Table(t Table) []string {
	widths := t.widths()
	total := t.Indent + gap*(len(widths)-1)
	for _, w := range widths {
		total += w
	}
	if over := total - s.Width; over > 0 {
		widths[0] = max(widths[0]-over, 8)
	}
	var lines []string
	if t.Header != nil {
		lines = append(lines, s.Paint(Dim, t.line(s, t.Header, widths)))
	}
	for _, r := range t.Rows {
		lines = append(lines, t.line(s, r, widths))
	}
	return lines
}

func (t Table) widths() []int {
	columns := len(t.Header)
	for _, row := range t.Rows {
		columns = max(columns, len(row))
	}
	widths := make([]int, columns)
	for _, row := range append([][]string{t.Header}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t Table) line(s Screen, cells []string, widths []int) string {
	parts := make([]string, len(cells))
	for i, cell := range cells {
		side := left
		for _, c := range t.Right {
			side = side || Align(c == i)
		}
		parts[i] = pad(s.CutCell(cell, widths[i]), widths[i], side)
	}
	line := strings.Repeat(" ", t.Indent) + strings.Join(parts, strings.Repeat(" ", gap))
	return strings.TrimRight(line, " ")
}

// Cut returns text shortened to width columns.
func (s Screen) Cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	more := s.pick("…", "~")
	return string([]rune(text)[:max(width-1, 0)]) + more
}

// CutCell returns a text that fits into a width. For a path it keeps the end, which is the most informative part.
func (s Screen) CutCell(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if n <= width || !strings.Contains(text, "/") || strings.Contains(text, " ") {
		return s.Cut(text, width)
	}
	return s.pick("…", "~") + string([]rune(text)[n-max(width-1, 0):])
}

func pad(text string, width int, side Align) string {
	space := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	if side == right {
		return space + text
	}
	return text + space
}
