// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// TOML allows a table to be written in several places, with restrictions: a table has one [header]; a table
// created by a dotted key cannot have a header; a list of tables has only [[headers]]; a value is never
// extended.

// isDotted reports whether a table was created by a dotted key.
func isDotted(n *node) bool { return strings.HasPrefix(n.style, tomlDotted) }

// isTables reports whether a value is a list of tables with headers.
func isTables(n *node) bool { return n.kind == List && strings.HasPrefix(n.style, tomlHeader) }

// isTable reports whether a value is a table that headers can extend.
func isTable(n *node) bool {
	return n.kind == Map && (strings.HasPrefix(n.style, tomlHeader) || strings.HasPrefix(n.style, tomlImplicit))
}

// header makes the table of a [header], or of a [[header]] if array is set, the current table.
func (b *tomlBuilder) header(keys []tomlKey, array bool) {
	at := b.root
	line := max(lineStart(b.src, keys[0].start), b.from)
	names := written(keys)
	last := len(keys) - 1
	for i, k := range keys[:last] {
		at = b.through(at, k, line, names[i])
	}
	if array {
		at = b.item(at, keys[last], line, names[last])
	} else {
		at = b.table(at, keys[last], line, names[last])
	}
	at.style = tomlHeader + names[last]
	at.start = line
	at.end = lineEnd(b.src, keys[last].end)
	b.current = at
}

// through returns the table for one part of a header. A missing table is created; in a list of tables, the
// last item is used.
func (b *tomlBuilder) through(at *node, k tomlKey, line int, key string) *node {
	n := b.there[tomlSpot{at, k.name}]
	switch {
	case n == nil:
		return b.add(at, k.name, k.start, &node{kind: Map, start: line, end: line, style: tomlImplicit + key})
	case isTables(n):
		return n.entries[len(n.entries)-1].value
	case !isTable(n) && !isDotted(n):
		b.refuse("key %s already exists as a value", k.name)
	}
	return n
}

// table returns the table of a [header]. It refuses a second header for the same table.
func (b *tomlBuilder) table(at *node, k tomlKey, line int, key string) *node {
	n := b.there[tomlSpot{at, k.name}]
	switch {
	case n == nil:
		return b.add(at, k.name, k.start, &node{kind: Map, start: line, end: line, style: tomlImplicit + key})
	case isDotted(n):
		b.refuse("table %s is already defined by a dotted key", k.name)
	case isTables(n):
		b.refuse("table %s already exists as an array of tables", k.name)
	case !isTable(n):
		b.refuse("key %s should be a table, not a value", k.name)
	case strings.HasPrefix(n.style, tomlHeader):
		b.refuse("table %s already exists", k.name)
	}
	return n
}

// item adds a table to a list of tables and returns it.
func (b *tomlBuilder) item(at *node, k tomlKey, line int, key string) *node {
	list := b.there[tomlSpot{at, k.name}]
	if list == nil {
		list = b.add(at, k.name, k.start, &node{kind: List, start: line, end: line, style: tomlHeader + key})
	}
	if !isTables(list) {
		what := "value"
		switch {
		case isDotted(list):
			what = "kv-table"
		case isTable(list):
			what = "table"
		}
		b.refuse("key %s already exists as a %s, but should be an array table", k.name, what)
	}
	n := &node{kind: Map, start: line}
	list.entries = append(list.entries, entry{key: strconv.Itoa(len(list.entries)), keyStart: k.start, value: n})
	return n
}

// keyValue adds a key to a table and returns where its value ends. The tables in a dotted key end there too.
func (b *tomlBuilder) keyValue(at *node, keys []tomlKey, v *unstable.Node, depth int) int {
	names := written(keys)
	last := len(keys) - 1
	tables := []*node{at}
	for i, k := range keys[:last] {
		n := b.there[tomlSpot{at, k.name}]
		switch {
		case n == nil:
			n = b.add(at, k.name, k.start, &node{kind: Map, start: keys[0].start, style: tomlDotted + names[i]})
		case !isDotted(n):
			b.refuse("key %s is already defined", k.name)
		}
		at = n
		tables = append(tables, at)
	}
	if b.there[tomlSpot{at, keys[last].name}] != nil {
		b.refuse("key %s is already defined", keys[last].name)
	}
	equals := keys[last].end + bytes.IndexByte(b.src[keys[last].end:], '=')
	value := b.value(v, equals+1, depth+1)
	b.add(at, keys[last].name, keys[0].start, value)
	for _, t := range tables {
		t.end = max(t.end, value.end)
	}
	return value.end
}
