// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// value converts a value that begins at or after a byte.
func (b *tomlBuilder) value(v *unstable.Node, at int) *node {
	n := &node{start: tomlSkip(b.src, at), style: tomlInline}
	switch v.Kind {
	case unstable.Array:
		n.kind = List
		b.items(n, v)
	case unstable.InlineTable:
		n.kind = Map
		n.end = n.start + 1
		for it := v.Children(); it.Next(); {
			n.end = max(n.end, b.keyValue(n, it.Node()))
		}
		n.end = tomlClosing(b.src, n.end)
	default:
		n.start = b.from + int(v.Raw.Offset)
		n.end = n.start + int(v.Raw.Length)
		tomlScalar(n, v, string(b.src[n.start:n.end]))
	}
	return n
}

func (b *tomlBuilder) items(n *node, v *unstable.Node) {
	n.end = n.start + 1
	i := 0
	for it := v.Children(); it.Next(); i++ {
		item := b.value(it.Node(), n.end)
		n.entries = append(n.entries, entry{key: strconv.Itoa(i), keyStart: item.start, value: item})
		n.end = item.end
	}
	n.end = tomlClosing(b.src, n.end)
}

// tomlSkip goes past white space, commas, comments and line ends.
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

// tomlClosing is the byte after a closing bracket.
func tomlClosing(src []byte, at int) int { return min(tomlSkip(src, at)+1, len(src)) }

// tomlScalar decodes a single value.
func tomlScalar(n *node, v *unstable.Node, text string) {
	n.kind, n.style = Expression, "plain"
	digits := strings.ReplaceAll(text, "_", "")
	switch v.Kind {
	case unstable.String:
		n.kind, n.data = Text, string(v.Data)
		n.style = text[:1]
		if strings.HasPrefix(text, `"""`) || strings.HasPrefix(text, "'''") {
			n.style, n.fixed = text[:3], "it is a text of several lines"
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
