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

// tomlSyntax reads TOML. The library decodes the file first, which finds keys
// that are there twice; its parser then gives the bytes of keys and values,
// and the tables are put together here.
type tomlSyntax struct{}

// The styles of tables: a word, and for those that can be written to from
// elsewhere the key that leads there.
const (
	tomlHeader   = "header "   // [a.b] or [[a.b]]
	tomlImplicit = "implicit " // a, where there is only [a.b]
	tomlDotted   = "dotted "   // a, where there is a.b = 1
	tomlInline   = "inline"    // {b = 1}
)

func (tomlSyntax) parse(src []byte) (*node, error) {
	from := contentStart(src)
	text := src[from:]
	if at := tooDeep(text); at >= 0 {
		return nil, failAt(from+at, "the values are nested too deep")
	}
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		return nil, tomlError(src, from, err)
	}
	b := tomlBuilder{src: src, from: from}
	b.root = &node{kind: Map, start: from, end: from, style: tomlHeader}
	b.current = b.root
	b.parser.Reset(text)
	for b.parser.NextExpression() {
		b.expression(b.parser.Expression())
	}
	if err := b.parser.Error(); err != nil {
		return nil, failAt(from, "%v", err)
	}
	return b.root, b.err
}

// tomlError gives the library's error its place.
func tomlError(src []byte, from int, err error) error {
	var d *toml.DecodeError
	if !errors.As(err, &d) {
		return failAt(from, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	row, column := d.Position()
	at := from
	for range row - 1 {
		if i := bytes.IndexByte(src[at:], '\n'); i >= 0 {
			at += i + 1
		}
	}
	return failAt(min(at+max(column-1, 0), len(src)), "%s", strings.TrimPrefix(d.Error(), "toml: "))
}

// tomlBuilder puts the tables together.
type tomlBuilder struct {
	src     []byte
	from    int
	parser  unstable.Parser
	root    *node
	current *node // the table of the last header
	err     error
}

// tomlKey is one part of a dotted key.
type tomlKey struct {
	name, raw  string
	start, end int
}

func (b *tomlBuilder) keys(it unstable.Iterator) []tomlKey {
	var keys []tomlKey
	for it.Next() {
		n := it.Node()
		start := b.from + int(n.Raw.Offset)
		keys = append(keys, tomlKey{string(n.Data), string(b.parser.Raw(n.Raw)), start, start + int(n.Raw.Length)})
	}
	return keys
}

func (b *tomlBuilder) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.Table:
		b.header(b.keys(e.Key()), false)
	case unstable.ArrayTable:
		b.header(b.keys(e.Key()), true)
	case unstable.KeyValue:
		end := b.keyValue(b.current, e)
		b.current.end = max(b.current.end, end)
	}
}

// header makes the table of a [header] the current one.
func (b *tomlBuilder) header(keys []tomlKey, array bool) {
	at := b.root
	line := max(lineStart(b.src, keys[0].start), b.from)
	var written []string
	for i, k := range keys {
		written = append(written, k.raw)
		key := strings.Join(written, ".")
		last := i == len(keys)-1
		if last && array {
			at = b.item(at, k, line, key)
		} else {
			at = b.table(at, k, line, key)
		}
		if last {
			at.style = tomlHeader + key
			at.start = line
			at.end = lineEnd(b.src, keys[i].end)
		}
	}
	b.current = at
}

// table is the table under a key: made where it is missing, the last item where
// it is a list of tables.
func (b *tomlBuilder) table(at *node, k tomlKey, line int, key string) *node {
	e, _ := at.own(k.name)
	if e == nil {
		n := &node{kind: Map, start: line, end: line, style: tomlImplicit + key}
		at.entries = append(at.entries, entry{key: k.name, keyStart: k.start, value: n})
		return n
	}
	n := e.value
	if n.kind == List && len(n.entries) > 0 {
		n = n.entries[len(n.entries)-1].value
	}
	return n
}

// item adds a table to a list of tables.
func (b *tomlBuilder) item(at *node, k tomlKey, line int, key string) *node {
	e, _ := at.own(k.name)
	if e == nil {
		list := &node{kind: List, start: line, end: line, style: tomlHeader + key}
		at.entries = append(at.entries, entry{key: k.name, keyStart: k.start, value: list})
		e = &at.entries[len(at.entries)-1]
	}
	n := &node{kind: Map, start: line}
	e.value.entries = append(e.value.entries, entry{key: strconv.Itoa(len(e.value.entries)), keyStart: k.start, value: n})
	return n
}

// keyValue adds a key to a table and returns where its value ends.
func (b *tomlBuilder) keyValue(at *node, kv *unstable.Node) int {
	keys := b.keys(kv.Key())
	var written []string
	for _, k := range keys[:len(keys)-1] {
		written = append(written, k.raw)
		e, _ := at.own(k.name)
		if e == nil {
			n := &node{kind: Map, start: keys[0].start, style: tomlDotted + strings.Join(written, ".")}
			at.entries = append(at.entries, entry{key: k.name, keyStart: k.start, value: n})
			e = &at.entries[len(at.entries)-1]
		}
		at = e.value
	}
	last := keys[len(keys)-1]
	equals := last.end + bytes.IndexByte(b.src[last.end:], '=')
	value := b.value(kv.Value(), equals+1)
	at.entries = append(at.entries, entry{key: last.name, keyStart: keys[0].start, value: value})
	at.end = max(at.end, value.end)
	return value.end
}

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
