// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// jsonSyntax reads JSON, including the comments and trailing commas that DeepSpeed's users write.
type jsonSyntax struct{}

func (jsonSyntax) parse(src []byte) (*node, error) {
	from := contentStart(src)
	if !utf8.Valid(src) {
		return nil, failAt(0, "the file is not UTF-8 text")
	}
	if at := jsonTooDeep(src); at >= 0 {
		return nil, nestedTooDeep(at)
	}
	top, err := hujson.Parse(src[from:])
	if err != nil {
		return nil, jsonError(src, from, err)
	}
	return jsonNode(&top, from)
}

// jsonTooDeep returns the position of the bracket that is nested too deep, or -1. It runs before the library,
// which recurses for each bracket.
func jsonTooDeep(src []byte) int {
	depth := 0
	for at := 0; at < len(src); at++ {
		switch src[at] {
		case '{', '[':
			if depth++; depth > maxDepth+1 {
				return at
			}
		case '}', ']':
			depth--
		case '"':
			size := doubleQuoted(src[at:])
			if size < 0 {
				return -1 // the library will report the unclosed string
			}
			at += size - 1
		case '/':
			at += max(jsonComment(src[at:]), 1) - 1
		}
	}
	return -1
}

// jsonComment returns the length of a comment, or 0.
func jsonComment(b []byte) int {
	end := "\n"
	switch {
	case bytes.HasPrefix(b, []byte("/*")):
		end = "*/"
	case !bytes.HasPrefix(b, []byte("//")):
		return 0
	}
	size := bytes.Index(b[2:], []byte(end))
	if size < 0 {
		return len(b)
	}
	return 2 + size + len(end)
}

// jsonError returns the library's error with its position in src.
func jsonError(src []byte, from int, err error) error {
	line, column, message := jsonPlace(err.Error())
	at := from
	for range line - 1 {
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			at += i + 1
		}
	}
	text := strings.Join(strings.Fields(message), " ")
	return failAt(min(at+max(column-1, 0), len(src)), "%s", text)
}

// jsonPlace splits a message of the library into the line and column that it begins with, or zeros, and the
// rest.
func jsonPlace(message string) (line, column int, rest string) {
	message = strings.TrimPrefix(message, "hujson: ")
	place, placed := strings.CutPrefix(message, "line ")
	line, place, one := cutNumber(place, ", column ")
	column, rest, other := cutNumber(place, ": ")
	if !placed || !one || !other {
		return 0, 0, message
	}
	return line, column, rest
}

// jsonNode converts one value, which begins at byte from.
func jsonNode(v *hujson.Value, from int) (*node, error) {
	n := &node{start: from + v.StartOffset, end: from + v.EndOffset}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = Map
		for i := range value.Members {
			m := &value.Members[i]
			key, ok := m.Name.Value.(hujson.Literal)
			if !ok {
				return nil, failAt(from+m.Name.StartOffset, "a key must be a string")
			}
			child, err := jsonNode(&m.Value, from)
			if err != nil {
				return nil, err
			}
			n.entries = append(n.entries, entry{key: key.String(), keyStart: from + m.Name.StartOffset, value: child})
		}
	case *hujson.Array:
		n.kind = List
		for i := range value.Elements {
			child, err := jsonNode(&value.Elements[i], from)
			if err != nil {
				return nil, err
			}
			n.entries = append(n.entries, entry{key: strconv.Itoa(i), keyStart: child.start, value: child})
		}
	case hujson.Literal:
		return n, jsonLiteral(n, value)
	}
	return n, nil
}

// jsonLiteral decodes a scalar that the library has checked.
func jsonLiteral(n *node, text hujson.Literal) error {
	switch text[0] {
	case 'n':
		n.kind = Null
	case 't', 'f':
		n.kind, n.data = Bool, text[0] == 't'
	case '"':
		var s string
		if err := json.Unmarshal(text, &s); err != nil {
			return failAt(n.start, "%v", err)
		}
		n.kind, n.data, n.style = Text, s, `"`
	default:
		return jsonNumber(n, json.Number(text))
	}
	return nil
}

func jsonNumber(n *node, v json.Number) error {
	if i, err := v.Int64(); err == nil {
		n.kind, n.data = Int, i
		return nil
	}
	f, err := v.Float64()
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return failAt(n.start, "%s is not a number", v)
	}
	if n.kind, n.data = Float, f; err != nil {
		n.kind, n.data = Expression, v.String()
	}
	return nil
}

func (jsonSyntax) render(_ []byte, old *node, value any) (string, any, error) {
	// "8" stays a string, "auto" may become a number.
	if s, ok := old.data.(string); ok && numeric(s) && value != nil {
		value = bare(value)
	}
	return jsonText(value), value, nil
}

// jsonText returns a value as JSON.
func jsonText(value any) string {
	s, ok := value.(string)
	if !ok {
		return bare(value)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.TrimSpace(b.String())
}

func (jsonSyntax) insert(src []byte, parent *node, keys []string, value any) ([]splice, error) {
	if parent.kind != Map {
		return nil, ErrKind
	}
	unit, nl := unitOf(src), newline(src)
	indent := indentation(src, parent.start)
	spread := bytes.ContainsRune(src[parent.start:parent.end], '\n')
	text := jsonText(value)
	for i := len(keys) - 1; i >= 0; i-- {
		if text = jsonText(keys[i]) + ": " + text; i == 0 {
			break
		}
		if spread {
			within := nl + indent + strings.Repeat(unit, i)
			text = "{" + within + unit + text + within + "}"
		} else {
			text = "{" + text + "}"
		}
	}
	return bracketInsert(src, parent, text, "//", "/*"), nil
}
