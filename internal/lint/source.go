// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"snug/internal/pysrc"
)

// decoded returns a source in UTF-8, and whether it is identical to the file. A file may declare Latin-1 in one of
// its first two lines; other encodings are refused.
func decoded(src []byte) (code []byte, exact bool, err error) {
	if bytes.IndexByte(src[:min(len(src), 8192)], 0) >= 0 {
		return nil, false, errors.New("this is a binary file, not Python source")
	}
	if len(src) > maxCode {
		return nil, false, fmt.Errorf("more than %d MiB of Python, the most that lint reads; is it generated?", maxCode>>20)
	}
	if utf8.Valid(src) {
		return src, true, nil
	}
	switch declaredEncoding(src) {
	case "latin-1", "latin1", "iso-8859-1", "iso-8859-15", "cp1252", "windows-1252":
		out := make([]rune, len(src))
		for i, c := range src {
			out[i] = rune(c)
		}
		return []byte(string(out)), false, nil
	}
	return src, true, nil // the parser reports the error with its position
}

// declaredEncoding returns the encoding of "# -*- coding: name -*-" in the first two lines, "" if none.
func declaredEncoding(src []byte) string {
	lines := bytes.SplitN(src[:min(len(src), 400)], []byte("\n"), 3)
	for _, line := range lines[:min(len(lines), 2)] {
		text := strings.ToLower(string(line))
		_, name, ok := strings.Cut(text, "coding")
		if ok && strings.HasPrefix(strings.TrimSpace(text), "#") {
			name = strings.TrimLeft(name, ":= ")
			end := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !isWordByte(byte(r)) })
			if end >= 0 {
				name = name[:end]
			}
			return name
		}
	}
	return ""
}

func inFile(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }

// lineStarts returns where each line of a source begins.
func lineStarts(src []byte) []int {
	start := 0
	if bytes.HasPrefix(src, []byte("\ufeff")) {
		start = len("\ufeff")
	}
	out := []int{start}
	for i := start; i < len(src); i++ {
		switch {
		case src[i] == '\r' && i+1 < len(src) && src[i+1] == '\n':
		case src[i] == '\n' || src[i] == '\r':
			out = append(out, i+1)
		}
	}
	return out
}

// offset returns a position's byte offset in the source.
func (m *module) offset(at pysrc.Pos) (int, bool) {
	if at.Line < 1 || at.Line > len(m.starts) {
		return 0, false
	}
	start := m.starts[at.Line-1] + at.Col - 1
	return start, start < len(m.src)
}
