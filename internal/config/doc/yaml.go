// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// yamlSyntax reads YAML with the library and finds the bytes of each value from the library's line and
// column. If a value has properties (&anchor, !!tag), the library reports their position. The library does not
// report where a value ends; that is found by scanning (yaml_span.go).
type yamlSyntax struct{}

func (yamlSyntax) parse(src []byte) (*node, error) {
	if at := notText(src); at >= 0 {
		return nil, failAt(at, "the file is not UTF-8 text")
	}
	top, err := firstDocument(src)
	if err != nil {
		return nil, err
	}
	if top == nil {
		return &node{kind: Null, start: len(src), end: len(src), style: yamlEmpty}, nil
	}
	r := yamlReader{src: src, lines: yamlLines(src), made: map[*yaml.Node]*node{}}
	root := r.node(top, -1, 0)
	return root, r.err
}

// firstDocument returns the first document of a stream that is not empty. The others must only be
// well-formed.
func firstDocument(src []byte) (*yaml.Node, error) {
	top, err := yamlDocuments(src)
	if err != nil {
		return nil, yamlError(src, err)
	}
	return top, nil
}

// yamlDocuments is firstDocument with the library's own errors.
func yamlDocuments(src []byte) (top *yaml.Node, err error) {
	// The library can panic on hostile input.
	defer func() {
		if r := recover(); r != nil {
			top, err = nil, fmt.Errorf("cannot be read as YAML: %v", r)
		}
	}()
	for dec := yaml.NewDecoder(bytes.NewReader(src)); ; {
		var document yaml.Node
		err := dec.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return top, nil
		case err != nil:
			return nil, err
		case len(document.Content) > 0 && (top == nil || top.Tag == "!!null"):
			top = document.Content[0]
		}
	}
}

// yamlReader converts the library's tree to ours.
type yamlReader struct {
	src   []byte
	lines []int
	made  map[*yaml.Node]*node
	err   error
	last  struct{ line, column, at int } // where the last value was found
}

// offset returns the byte at a line and column. Values come in order, so the search continues from the last
// one.
func (r *yamlReader) offset(line, column int) int {
	if line < 1 || line > len(r.lines) {
		r.fail(len(r.src), "line %d is not in the file", line)
		return len(r.src)
	}
	from, at := 1, r.lines[line-1]
	if r.last.line == line && r.last.column <= column {
		from, at = r.last.column, r.last.at
	}
	for range column - from {
		_, n := utf8.DecodeRune(r.src[at:])
		at += n
	}
	r.last.line, r.last.column, r.last.at = line, column, at
	return at
}

func (r *yamlReader) fail(at int, format string, args ...any) {
	if r.err == nil {
		r.err = failAt(at, format, args...)
	}
}

// node converts one value. indent is the indentation of the block around it.
func (r *yamlReader) node(y *yaml.Node, indent, depth int) *node {
	n := &node{anchor: y.Anchor}
	r.made[y] = n
	if depth > maxDepth {
		r.err = cmp.Or(r.err, nestedTooDeep(r.offset(y.Line, y.Column)))
	}
	if r.err != nil {
		return n
	}
	n.start = skipProperties(r.src, r.offset(y.Line, y.Column))
	switch y.Kind {
	case yaml.AliasNode:
		r.alias(n, y)
	case yaml.ScalarNode:
		r.scalar(n, y, indent)
	case yaml.MappingNode:
		r.mapping(n, y, depth)
	case yaml.SequenceNode:
		r.sequence(n, y, indent, depth)
	}
	return n
}

func (r *yamlReader) alias(n *node, y *yaml.Node) {
	n.kind, n.name = Expression, "*"+y.Value
	n.end = min(n.start+len(n.name), len(r.src))
	if n.target = r.made[y.Alias]; n.target == nil || string(r.src[n.start:n.end]) != n.name {
		r.fail(n.start, "the alias %s has no anchor", n.name)
	}
}

func (r *yamlReader) mapping(n *node, y *yaml.Node, depth int) {
	n.kind = Map
	flow := n.start < len(r.src) && r.src[n.start] == '{' && y.Style&yaml.FlowStyle != 0
	column := -1
	n.end = n.start
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		k := r.node(key, column, depth+1)
		if i == 0 && !flow {
			n.start = k.start
			if key.Anchor != "" {
				n.start = r.offset(key.Line, key.Column)
			}
		}
		if !flow {
			column = r.columnOf(k.start)
		}
		v := r.node(y.Content[i+1], column, depth+1)
		if r.err != nil {
			return // a value's end was not found
		}
		n.entries = append(n.entries, entry{key: r.keyText(key, k), keyStart: k.start, value: v, merge: key.Tag == "!!merge"})
		n.end = max(k.end, v.end)
	}
	n.style = yamlBlock
	if flow {
		n.style = yamlFlow
		n.end = r.closing(n, '}')
	}
}

// columnOf returns the column of a byte, in characters.
func (r *yamlReader) columnOf(at int) int {
	begin := lineStart(r.src, at)
	return utf8.RuneCount(bytes.TrimPrefix(r.src[begin:at], []byte(bom)))
}

// keyText returns the name of a key. If the key is not a scalar, its name is its text.
func (r *yamlReader) keyText(y *yaml.Node, k *node) string {
	if y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	if y.Kind == yaml.ScalarNode {
		return y.Value
	}
	return "? " + string(r.src[k.start:max(k.start, k.end)])
}

func (r *yamlReader) sequence(n *node, y *yaml.Node, indent, depth int) {
	n.kind = List
	flow := n.start < len(r.src) && r.src[n.start] == '[' && y.Style&yaml.FlowStyle != 0
	column := indent
	if !flow {
		column = r.columnOf(n.start)
		if y.Anchor != "" {
			column = indent
		}
	}
	n.end = n.start
	for i, item := range y.Content {
		v := r.node(item, column, depth+1)
		n.entries = append(n.entries, entry{key: strconv.Itoa(i), keyStart: v.start, value: v})
		n.end = v.end
		if r.err != nil {
			return
		}
	}
	n.style = yamlBlock
	if flow {
		n.style = yamlFlow
		n.end = r.closing(n, ']')
	}
}

// closing returns the end of a flow collection, after its closing bracket.
func (r *yamlReader) closing(n *node, bracket byte) int {
	at := n.end
	if len(n.entries) == 0 {
		at = n.start + 1
	}
	for at < len(r.src) {
		switch c := r.src[at]; {
		case c == bracket:
			return at + 1
		case c == '#':
			at = yamlLineEnd(r.src, at)
		case c == ',' || c == ' ' || c == '\t' || c == ':' || c == '?':
			at++
		default:
			size := yamlBreak(r.src[at:])
			if size == 0 {
				r.fail(at, "found %q, but %q is needed to close the collection that begins here", c, bracket)
				return at
			}
			at += size
		}
	}
	r.fail(at, "%q is missing", bracket)
	return at
}
