// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// value returns the node of a value that begins at or after a byte.
func (b *tomlBuilder) value(v *unstable.Node, at, depth int) *node {
	n := &node{start: tomlSkip(b.src, at), style: tomlInline}
	n.end = min(n.start+1, len(b.src))
	switch {
	case depth > maxDepth:
		b.fail(nestedTooDeep(n.start))
	case v.Kind == unstable.Array:
		n.kind = List
		b.items(n, v, depth)
	case v.Kind == unstable.InlineTable:
		n.kind = Map
		b.inline(n, v, depth)
	default:
		n.start = b.from + int(v.Raw.Offset)
		n.end = n.start + int(v.Raw.Length)
		text := string(b.src[n.start:n.end])
		if err := tomlCheck(v.Kind, text, n.start); b.wrong == nil {
			b.wrong = err
		}
		tomlScalar(n, v, text)
	}
	return n
}

func (b *tomlBuilder) inline(n *node, v *unstable.Node, depth int) {
	for it := v.Children(); it.Next(); {
		keys := b.keys(it.Node().Key())
		if b.err != nil {
			return
		}
		n.end = max(n.end, b.keyValue(n, keys, it.Node().Value(), depth))
	}
	n.end = tomlClosing(b.src, n.end)
}

func (b *tomlBuilder) items(n *node, v *unstable.Node, depth int) {
	i := 0
	for it := v.Children(); it.Next(); i++ {
		item := b.value(it.Node(), n.end, depth+1)
		n.entries = append(n.entries, entry{key: strconv.Itoa(i), keyStart: item.start, value: item})
		n.end = item.end
	}
	n.end = tomlClosing(b.src, n.end)
}

// tomlSkip skips white space, commas, comments and line ends.
func tomlSkip(src []byte, at int) int {
	for at < len(src) {
		switch {
		case src[at] == '#':
			at = lineEnd(src, at)
		case bytes.IndexByte([]byte(" \t\r\n,"), src[at]) >= 0:
			at++
		default:
			return at
		}
	}
	return at
}

// tomlClosing returns the byte after a closing bracket.
func tomlClosing(src []byte, at int) int { return min(tomlSkip(src, at)+1, len(src)) }

// tomlCheck returns the error in a number or a date that the parser accepted, such as a number that is too
// large or 31 February. It uses the library's decoder, unless the number is a simple one.
func tomlCheck(kind unstable.Kind, text string, at int) error {
	if kind == unstable.String || kind == unstable.Bool || kind == unstable.Integer && isPlainInteger(text) {
		return nil
	}
	const key = "v = "
	var v map[string]any
	err := toml.Unmarshal([]byte(key+text), &v)
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return err
	}
	_, column := d.Position()
	return failAt(at+max(column-1-len(key), 0), "%s", strings.TrimPrefix(d.Error(), "toml: "))
}

// isPlainInteger reports whether a text is a whole number that is sure to fit: no sign, no underscores, not
// in hexadecimal.
func isPlainInteger(text string) bool {
	return len(text) <= 18 && strings.Trim(text, "0123456789") == "" && (text[0] != '0' || len(text) == 1)
}

// tomlScalar decodes a scalar into n.
func tomlScalar(n *node, v *unstable.Node, text string) {
	n.kind, n.style = Expression, "plain"
	digits := strings.ReplaceAll(text, "_", "")
	switch v.Kind {
	case unstable.String:
		n.kind, n.data = Text, string(v.Data)
		n.style = text[:1]
		if strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "'''") {
			n.style, n.fixed = text[:3], "it is a multi-line string"
		}
	case unstable.Bool:
		n.kind, n.data = Bool, text == "true"
	case unstable.Integer:
		if i, err := strconv.ParseInt(digits, 0, 64); err == nil {
			n.kind, n.data = Int, i
		}
	case unstable.Float:
		if f, err := strconv.ParseFloat(digits, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			n.kind, n.data = Float, f
		}
	}
}
