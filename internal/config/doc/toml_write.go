// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"fmt"
	"strings"
)

func (tomlSyntax) render(_ []byte, old *node, value any) (string, any, error) {
	if s, ok := old.data.(string); ok && numeric(s) && value != nil {
		value = bare(value)
	}
	text, err := tomlText(value, old.style)
	return text, value, err
}

// tomlText returns a value as TOML. A string gets the quotes of the old one.
func tomlText(value any, style string) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", fmt.Errorf("%w: TOML has no null; remove the key instead", ErrKind)
	case string:
		if style == "'" && !strings.Contains(v, "'") {
			return "'" + v + "'", nil
		}
		return jsonText(v), nil
	}
	return bare(value), nil
}

// tomlName returns a key as TOML, quoted if necessary.
func tomlName(key string) string {
	if key != "" && runEnd(key, "-") == len(key) {
		return key
	}
	return jsonText(key)
}

func tomlNames(keys []string) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = tomlName(k)
	}
	return strings.Join(names, ".")
}

// insert adds a key after the last one in its table; a missing table gets a header.
func (tomlSyntax) insert(src []byte, parent *node, keys []string, value any) ([]splice, error) {
	text, err := tomlText(value, "")
	if err != nil {
		return nil, err
	}
	if parent.style == tomlInline {
		return bracketInsert(src, parent, tomlNames(keys)+" = "+text, "#"), nil
	}
	if prefix, ok := strings.CutPrefix(parent.style, tomlDotted); ok {
		line := indentation(src, parent.start) + prefix + "." + tomlNames(keys) + " = " + text
		return []splice{appendLine(src, lineEnd(src, parent.end), line)}, nil
	}
	nl := newline(src)
	if prefix, ok := strings.CutPrefix(parent.style, tomlImplicit); ok {
		header := "[" + join(prefix, tomlNames(keys[:len(keys)-1])) + "]"
		at := tomlCommentsAbove(src, parent.start)
		return []splice{{at, at, header + nl + tomlName(keys[len(keys)-1]) + " = " + text + nl + nl}}, nil
	}
	prefix := strings.TrimPrefix(parent.style, tomlHeader)
	line := tomlName(keys[len(keys)-1]) + " = " + text
	if len(keys) > 1 {
		header := "[" + join(prefix, tomlNames(keys[:len(keys)-1])) + "]"
		return []splice{tomlSection(src, parent, header+nl+line)}, nil
	}
	return []splice{tomlLine(src, parent, line)}, nil
}

func join(prefix, key string) string {
	if prefix == "" || key == "" {
		return prefix + key
	}
	return prefix + "." + key
}

// tomlLine adds a line after the last one of a table.
func tomlLine(src []byte, table *node, line string) splice {
	nl := newline(src)
	if table.end > contentStart(src) {
		last := lineStart(src, table.end)
		if len(table.entries) > 0 && last > table.start {
			line = indentation(src, last) + line
		}
		return appendLine(src, lineEnd(src, table.end), line)
	}
	// The root has no keys: insert before the first header, or after the comments.
	for at := contentStart(src); at < len(src); {
		if bytes.HasPrefix(bytes.TrimLeft(src[at:], " \t"), []byte("[")) {
			at = tomlCommentsAbove(src, at)
			return splice{at, at, line + nl + nl}
		}
		at = min(lineEnd(src, at)+1, len(src))
		if at < len(src) && src[at-1] == '\r' {
			at++
		}
	}
	return appendLine(src, len(src), line)
}

// tomlSection adds a new table after the keys of another.
func tomlSection(src []byte, table *node, section string) splice {
	nl := newline(src)
	s := tomlLine(src, &node{start: table.start, end: table.end, entries: nil}, section)
	if strings.HasPrefix(s.text, nl) {
		s.text = nl + s.text
	} else if s.start > contentStart(src) && s.start == len(src) {
		s.text = nl + s.text
	}
	return s
}

// tomlCommentsAbove returns the beginning of the comments directly above a line.
func tomlCommentsAbove(src []byte, at int) int {
	for at > contentStart(src) {
		previous := max(lineStart(src, at-1), contentStart(src))
		if !bytes.HasPrefix(bytes.TrimLeft(src[previous:at], " \t"), []byte("#")) {
			break
		}
		at = previous
	}
	return at
}
