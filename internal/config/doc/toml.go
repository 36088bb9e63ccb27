// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"errors"
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

// keyValue adds a key to a table and returns where its value ends: there every
// table that a dotted key leads through ends too.
func (b *tomlBuilder) keyValue(at *node, kv *unstable.Node) int {
	keys := b.keys(kv.Key())
	var written []string
	tables := []*node{at}
	for _, k := range keys[:len(keys)-1] {
		written = append(written, k.raw)
		e, _ := at.own(k.name)
		if e == nil {
			n := &node{kind: Map, start: keys[0].start, style: tomlDotted + strings.Join(written, ".")}
			at.entries = append(at.entries, entry{key: k.name, keyStart: k.start, value: n})
			e = &at.entries[len(at.entries)-1]
		}
		at = e.value
		tables = append(tables, at)
	}
	last := keys[len(keys)-1]
	equals := last.end + bytes.IndexByte(b.src[last.end:], '=')
	value := b.value(kv.Value(), equals+1)
	at.entries = append(at.entries, entry{key: last.name, keyStart: keys[0].start, value: value})
	for _, t := range tables {
		t.end = max(t.end, value.end)
	}
	return value.end
}
