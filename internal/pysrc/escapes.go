// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// escapes converts the source of a string to its value.
type escapes struct {
	raw, bytes bool
	braces     bool // {{ and }} mean one brace
}

// resolve returns the value of a string's source, or what is wrong with it. A named
// character, \N{…}, is kept as written; a lone surrogate becomes U+FFFD.
func (e escapes) resolve(src string) (value, wrong string) {
	if e.bytes && !isASCII(src) {
		return "", "bytes may contain only ASCII characters"
	}
	special := "\r"
	if !e.raw {
		special += `\`
	}
	if e.braces {
		special += "{}"
	}
	next := strings.IndexAny(src, special)
	if next < 0 {
		return src, ""
	}
	out := make([]byte, 0, len(src))
	for next >= 0 {
		out = append(out, src[:next]...)
		src = src[next:]
		var n int
		out, n, wrong = e.one(out, src)
		if wrong != "" {
			return "", wrong
		}
		src = src[n:]
		next = strings.IndexAny(src, special)
	}
	return string(append(out, src...)), ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// one appends the first character or escape of src and returns its length in bytes.
func (e escapes) one(out []byte, src string) (_ []byte, n int, wrong string) {
	switch {
	case strings.HasPrefix(src, "\r\n"):
		return append(out, '\n'), 2, ""
	case src[0] == '\r':
		return append(out, '\n'), 1, ""
	case src[0] != '\\': // {{ or }}
		return append(out, src[0]), min(2, len(src)), ""
	case len(src) == 1:
		return append(out, '\\'), 1, ""
	}
	if c := strings.IndexByte(`\'"abfnrtv`, src[1]); c >= 0 {
		return append(out, "\\'\"\a\b\f\n\r\t\v"[c]), 2, ""
	}
	switch c := src[1]; {
	case c == '\n':
		return out, 2, ""
	case c == '\r':
		if strings.HasPrefix(src, "\\\r\n") {
			return out, 3, ""
		}
		return out, 2, ""
	case c >= '0' && c <= '7':
		return e.octal(out, src)
	case c == 'x':
		return e.hex(out, src, 2)
	case c == 'u' && !e.bytes:
		return e.hex(out, src, 4)
	case c == 'U' && !e.bytes:
		return e.hex(out, src, 8)
	case c == 'N' && !e.bytes:
		return named(out, src)
	}
	return append(out, '\\'), 1, ""
}

func (e escapes) octal(out []byte, src string) ([]byte, int, string) {
	n, v := 1, rune(0)
	for ; n < len(src) && n < 4 && src[n] >= '0' && src[n] <= '7'; n++ {
		v = v*8 + rune(src[n]-'0')
	}
	return e.character(out, v), n, ""
}

func (e escapes) hex(out []byte, src string, digits int) ([]byte, int, string) {
	if len(src) < 2+digits {
		return nil, 0, `\` + src[1:2] + " needs " + strconv.Itoa(digits) + " hexadecimal digits"
	}
	v, err := strconv.ParseUint(src[2:2+digits], 16, 32)
	if err != nil {
		return nil, 0, `\` + src[1:2] + " needs " + strconv.Itoa(digits) + " hexadecimal digits"
	}
	if v > utf8.MaxRune {
		return nil, 0, `\` + shortened(src[1:2+digits]) + " is not a character"
	}
	return e.character(out, rune(v)), 2 + digits, ""
}

// character appends a character, or a byte in a bytes literal.
func (e escapes) character(out []byte, v rune) []byte {
	if e.bytes {
		return append(out, byte(v))
	}
	return utf8.AppendRune(out, v)
}

func named(out []byte, src string) ([]byte, int, string) {
	end := strings.IndexByte(src, '}')
	if !strings.HasPrefix(src, `\N{`) || end < 4 {
		return nil, 0, `\N needs the name of a character in braces`
	}
	return append(out, src[:end+1]...), end + 1, ""
}
