// SPDX-License-Identifier: Apache-2.0

package change

import (
	"bytes"
	"fmt"
	"strings"
)

// context is the number of unchanged lines shown around changes.
const context = 3

// unified returns the unified diff of two texts; empty if they are equal. It shortens lines of more than
// width bytes and counts them.
func unified(fromName string, from []byte, toName string, to []byte, width int) (diff []byte, cut int) {
	if bytes.Equal(from, to) {
		return nil, 0
	}
	d := drawing{old: linesOf(from), new: linesOf(to), width: width}
	fmt.Fprintf(&d.out, "--- %s\n+++ %s\n", oneLine(fromName), oneLine(toName))
	for _, h := range hunks(align(d.old, d.new), len(d.old), len(d.new)) {
		d.hunk(h)
	}
	return d.out.Bytes(), d.cut
}

// oneLine returns a file's name for a header with its newlines escaped, so that they do not look like
// lines of the diff.
func oneLine(name string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(name)
}

// linesOf splits a text after each newline; the last line may have none.
func linesOf(text []byte) []string {
	var out []string
	for line := range strings.Lines(string(text)) {
		out = append(out, line)
	}
	return out
}

// stretch is a range of lines of the old text and the range that replaces it.
type stretch struct{ old, oldEnd, new, newEnd int }

// hunks returns the changes, grouping those that are close together.
func hunks(same []run, oldLines, newLines int) [][]stretch {
	var out [][]stretch
	old, new := 0, 0
	add := func(oldEnd, newEnd int) {
		if old == oldEnd && new == newEnd {
			return
		}
		s := stretch{old, oldEnd, new, newEnd}
		if n := len(out); n > 0 && old-out[n-1][len(out[n-1])-1].oldEnd <= 2*context {
			out[n-1] = append(out[n-1], s)
			return
		}
		out = append(out, []stretch{s})
	}
	for _, r := range same {
		add(r.old, r.new)
		old, new = r.old+r.n, r.new+r.n
	}
	add(oldLines, newLines)
	return out
}

// drawing is a diff being written.
type drawing struct {
	old, new []string
	width    int // bytes to show of each line
	cut      int // number of longer lines
	out      bytes.Buffer
}

// hunk writes changes with the lines around them.
func (d *drawing) hunk(changes []stretch) {
	first, last := changes[0], changes[len(changes)-1]
	before := min(context, first.old)
	after := min(context, len(d.old)-last.oldEnd)
	old, oldEnd := first.old-before, last.oldEnd+after
	new, newEnd := first.new-before, last.newEnd+after
	fmt.Fprintf(&d.out, "@@ -%s +%s @@\n", lineRange(old, oldEnd), lineRange(new, newEnd))
	for _, c := range changes {
		d.lines(' ', d.old[old:c.old], nil)
		d.lines('-', d.old[c.old:c.oldEnd], d.new[c.new:c.newEnd])
		d.lines('+', d.new[c.new:c.newEnd], d.old[c.old:c.oldEnd])
		old = c.oldEnd
	}
	d.lines(' ', d.old[old:oldEnd], nil)
}

// lineRange returns the range of lines for a hunk's header; if it is empty, the line before it.
func lineRange(start, end int) string {
	if start == end {
		return fmt.Sprintf("%d,0", start)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}

// lines writes lines with a prefix; others are the lines of the other text that they are compared with.
func (d *drawing) lines(mark byte, lines, others []string) {
	for i, line := range lines {
		d.out.WriteByte(mark)
		if len(line) > d.width {
			d.cut++
			other := ""
			if i < len(others) {
				other = others[i]
			}
			line = window(line, firstDifference(line, other), d.width)
		}
		d.out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			d.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
