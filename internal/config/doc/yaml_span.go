// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The styles of values.
const (
	yamlPlain  = "plain"
	yamlSingle = "'"
	yamlDouble = `"`
	yamlText   = "|" // a block of text, literal or folded
	yamlEmpty  = ""  // an omitted value: null
	yamlBlock  = "block"
	yamlFlow   = "flow"
)

// skipProperties returns the byte after &anchor and !tag, where the value itself begins. If there is no
// value, it is the end of the last property.
func skipProperties(src []byte, at int) int {
	end := at
	for at < len(src) && (src[at] == '&' || src[at] == '!') {
		for at < len(src) && src[at] != ' ' && src[at] != '\t' && yamlBreak(src[at:]) == 0 && !flowEnd(src, at) {
			at++
		}
		end = at
		at = skipBlank(src, at)
	}
	if at == end || at < len(src) && startsValue(src, at, end) {
		return at
	}
	return end
}

// flowEnd reports whether a flow indicator ends a property. Only a comma and the closing brackets can follow
// one directly.
func flowEnd(src []byte, at int) bool { return bytes.IndexByte([]byte(",]}"), src[at]) >= 0 }

// skipBlank returns the first byte after white space, comments and line breaks.
func skipBlank(src []byte, at int) int {
	for at < len(src) {
		switch {
		case src[at] == ' ' || src[at] == '\t':
			at++
		case src[at] == '#':
			at = yamlLineEnd(src, at)
		case yamlBreak(src[at:]) > 0:
			at += yamlBreak(src[at:])
		default:
			return at
		}
	}
	return at
}

// startsValue reports whether the text at a byte is the value of the properties before it: on the same line,
// anything that does not close or separate a flow collection.
func startsValue(src []byte, at, end int) bool {
	return !flowEnd(src, at) && !bytes.ContainsAny(src[end:at], "\r\n\u0085\u2028\u2029")
}

// yamlLineEnd returns where a line ends.
func yamlLineEnd(src []byte, at int) int {
	for at < len(src) && yamlBreak(src[at:]) == 0 {
		at++
	}
	return at
}

// scalar finds the end of a scalar and decodes it into n.
func (r *yamlReader) scalar(n *node, y *yaml.Node, indent int) {
	rest := r.src[n.start:]
	n.kind, n.data = yamlData(y)
	switch {
	case y.Style&yaml.DoubleQuotedStyle != 0:
		n.style, n.end = yamlDouble, n.start+doubleQuoted(rest)
	case y.Style&yaml.SingleQuotedStyle != 0:
		n.style, n.end = yamlSingle, n.start+singleQuoted(rest)
	case y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.style, n.end = yamlText, blockText(r.src, n.start, indent)
		n.fixed = "it is a block of text"
	case y.Value == "":
		n.style, n.end = yamlEmpty, n.start
	default:
		n.style = yamlPlain
		r.plain(n, y)
	}
	if n.end < n.start || n.end > len(r.src) {
		r.fail(n.start, "the end of this value was not found")
		return
	}
	if n.fixed == "" && bytes.ContainsAny(r.src[n.start:n.end], "\r\n\u0085\u2028\u2029") {
		n.fixed = "it is spread over several lines"
	}
}

// plain finds the end of an unquoted value. Line breaks in the value are read as spaces.
func (r *yamlReader) plain(n *node, y *yaml.Node) {
	if bytes.HasPrefix(r.src[n.start:], []byte(y.Value)) {
		n.end = n.start + len(y.Value)
		return
	}
	at := n.start
	for text := y.Value; text != ""; {
		c, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		if c == ' ' || c == '\n' || c == '\t' || c == '\u0085' || c == '\u2028' || c == '\u2029' {
			continue
		}
		for at < len(r.src) && !bytes.HasPrefix(r.src[at:], []byte(string(c))) {
			at++
		}
		at += size
	}
	n.end = at
}

// doubleQuoted returns the length of a text in double quotes.
func doubleQuoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// singleQuoted returns the length of a text in single quotes, where two quotes stand for one.
func singleQuoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		if b[i] != '\'' {
			continue
		}
		if i+1 >= len(b) || b[i+1] != '\'' {
			return i + 1
		}
		i++
	}
	return -1
}

// blockText returns where a block of text ends: before the first line that is
// indented less than it.
func blockText(src []byte, start, indent int) int {
	end := yamlLineEnd(src, start)
	header := string(src[start:end])
	inner := -1
	if digits := strings.TrimLeft(header, "|>+-"); digits != "" && digits[0] >= '1' && digits[0] <= '9' {
		inner = max(indent, 0) + int(digits[0]-'0')
	}
	for at := end + yamlBreak(src[end:]); at < len(src); {
		last := yamlLineEnd(src, at)
		line := src[at:last]
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		blank := spaces == len(line)
		if inner < 0 && !blank {
			inner = max(spaces, indent+1)
		}
		if !blank && spaces < inner {
			break
		}
		if !blank {
			end = last
		}
		at = last + max(yamlBreak(src[last:]), 1)
	}
	return end
}

// Scalar returns the kind and value of an unquoted YAML scalar.
func Scalar(word string) (Kind, any) {
	return yamlData(&yaml.Node{Kind: yaml.ScalarNode, Value: word})
}

// yamlData returns the kind and value of a scalar. Words like yes and off are read the way PyYAML reads them,
// because trainers use PyYAML.
func yamlData(y *yaml.Node) (Kind, any) {
	plain := y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0
	switch strings.ToLower(y.Value) {
	case "yes", "on":
		if plain {
			return Bool, true
		}
	case "no", "off":
		if plain {
			return Bool, false
		}
	}
	var v any
	if err := y.Decode(&v); err != nil {
		return Expression, y.Value
	}
	switch v := v.(type) {
	case nil:
		return Null, nil
	case bool:
		return Bool, v
	case int:
		return Int, int64(v)
	case int64:
		return Int, v
	case float64:
		return Float, v
	case string:
		return Text, v
	}
	return Expression, y.Value
}
