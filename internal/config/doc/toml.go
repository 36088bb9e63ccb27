// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"errors"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlSyntax reads TOML. The library's parser returns the bytes of keys and values; the tables are built
// here, with TOML's rules on what may be defined twice. The library's decoder checks these rules too, but
// takes quadratic time.
type tomlSyntax struct{}

// The styles of tables. Those that can be extended from elsewhere are followed by the table's key.
const (
	tomlHeader   = "header "   // [a.b] or [[a.b]]
	tomlImplicit = "implicit " // a, if there is only [a.b]
	tomlDotted   = "dotted "   // a, if there is a.b = 1
	tomlInline   = "inline"    // {b = 1}
)

func (tomlSyntax) parse(src []byte) (*node, error) {
	from := contentStart(src)
	root := &node{kind: Map, start: from, end: from, style: tomlHeader}
	b := tomlBuilder{src: src, from: from, root: root, current: root, there: map[tomlSpot]*node{}}
	b.parser.Reset(src[from:])
	for b.err == nil && b.parser.NextExpression() {
		b.expression(b.parser.Expression())
	}
	if err := b.parser.Error(); err != nil {
		b.fail(b.syntaxError(err))
	}
	return root, b.err
}

// syntaxError returns the library's error with its position.
func (b *tomlBuilder) syntaxError(err error) error {
	var p *unstable.ParserError
	if !errors.As(err, &p) {
		return failAt(b.from, "%v", err)
	}
	return failAt(b.from+int(b.parser.Range(p.Highlight).Offset), "%s", p.Message)
}

// tomlBuilder builds the tables.
type tomlBuilder struct {
	src     []byte
	from    int
	parser  unstable.Parser
	root    *node
	current *node              // the table of the last header
	there   map[tomlSpot]*node // every key of every table
	key     int                // where the key of this expression begins
	err     error
	wrong   error // an invalid value; reported only if no key is at fault
}

// tomlSpot is a key of a table.
type tomlSpot struct {
	in  *node
	key string
}

// add adds a value to a table.
func (b *tomlBuilder) add(in *node, key string, keyStart int, n *node) *node {
	in.entries = append(in.entries, entry{key: key, keyStart: keyStart, value: n})
	b.there[tomlSpot{in, key}] = n
	return n
}

// fail records an error, unless there was one before.
func (b *tomlBuilder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// refuse records an error in the key of this expression.
func (b *tomlBuilder) refuse(format string, args ...any) {
	b.fail(failAt(b.key, format, args...))
}

// expression reads a header, or a key with its value.
func (b *tomlBuilder) expression(e *unstable.Node) {
	keys := b.keys(e.Key())
	if b.err != nil {
		return
	}
	b.key = keys[0].start
	switch e.Kind {
	case unstable.Table:
		b.header(keys, false)
	case unstable.ArrayTable:
		b.header(keys, true)
	case unstable.KeyValue:
		b.keyValue(b.current, keys, e.Value(), 0)
	}
	b.fail(b.wrong)
}

// tomlKey is one part of a dotted key.
type tomlKey struct {
	name, raw  string
	start, end int
}

// keys returns the parts of a key, unless there are too many.
func (b *tomlBuilder) keys(it unstable.Iterator) []tomlKey {
	var keys []tomlKey
	for it.Next() {
		n := it.Node()
		start := b.from + int(n.Raw.Offset)
		if len(keys) == maxDepth {
			b.fail(nestedTooDeep(start))
			return keys
		}
		keys = append(keys, tomlKey{string(n.Data), string(b.parser.Raw(n.Raw)), start, start + int(n.Raw.Length)})
	}
	return keys
}

// written returns, for each part of a dotted key, the key as written in the file up to that part.
func written(keys []tomlKey) []string {
	var whole []byte
	ends := make([]int, len(keys))
	for i, k := range keys {
		if i > 0 {
			whole = append(whole, '.')
		}
		whole = append(whole, k.raw...)
		ends[i] = len(whole)
	}
	text := string(whole)
	out := make([]string, len(keys))
	for i, end := range ends {
		out[i] = text[:end]
	}
	return out
}
