// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"slices"
	"strings"

	"snug/internal/pysrc"
)

// Fix returns a file with its findings' fixes applied, and the number of fixes. Only the fixed bytes change. The
// result is parsed again: if that fails, nothing is changed.
func Fix(path string, src []byte, findings []Finding) ([]byte, int) {
	var edits []edit
	fixed := 0
	for _, f := range findings {
		if f.Cell == 0 && len(f.edits) > 0 {
			edits = append(edits, f.edits...)
			fixed++
		}
	}
	out, ok := applied(src, edits)
	if !ok || fixed == 0 {
		return src, 0
	}
	if _, err := pysrc.Parse(path, out); err != nil {
		return src, 0
	}
	return out, fixed
}

// applied applies edits, and reports whether they are within the source and do not overlap.
func applied(src []byte, edits []edit) ([]byte, bool) {
	slices.SortFunc(edits, func(a, b edit) int { return a.start - b.start })
	edits = slices.Compact(edits)
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(src) {
			return nil, false
		}
		out.Write(src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes(), true
}

// fixedLine returns the first line changed by a finding's fix, with the fix applied; "" if there is none.
func fixedLine(src []byte, f Finding) string {
	if len(f.edits) == 0 {
		return ""
	}
	e := f.edits[0]
	from := bytes.LastIndexByte(src[:e.start], '\n') + 1
	rest, _, _ := bytes.Cut(src[e.end:], []byte("\n"))
	return strings.TrimSpace(string(src[from:e.start]) + e.text + string(rest))
}
