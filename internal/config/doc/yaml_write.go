// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (yamlSyntax) render(src []byte, old *node, value any) (string, any, error) {
	text, reads := yamlRender(string(src[old.start:old.end]), old, value)
	// An omitted value may have no space after its colon or dash.
	if old.start == old.end && old.start > 0 && bytes.IndexByte([]byte(" \t\n"), src[old.start-1]) < 0 {
		text = " " + text
	}
	return text, reads, nil
}

func yamlRender(was string, old *node, value any) (string, any) {
	quoted := old.style == yamlSingle || old.style == yamlDouble
	if s, ok := old.data.(string); quoted && ok && numeric(s) {
		switch value.(type) {
		case int64, float64, bool:
			value = bare(value)
			if s == strings.Title(s) && (value == "true" || value == "false") { //nolint:staticcheck // one ASCII word
				value = likeBool(value == "true", s)
			}
		}
	}
	switch v := value.(type) {
	case string:
		return yamlString(v, old.style), v
	case bool:
		return likeBool(v, was), v
	case nil:
		if was == "~" {
			return was, nil
		}
		return "null", nil
	}
	if quoted && old.kind != Text { // !!int "8"
		return old.style + bare(value) + old.style, value
	}
	return bare(value), value
}

// isWord reports whether a string needs no quotes in any context.
func isWord(text string) bool {
	return text != "" && text[0] != '+' && text[0] != '-' && runEnd(text, "./+-") == len(text)
}

// yamlString returns a string in the given style, or in quotes if it would be read as something else.
func yamlString(v, style string) string {
	switch {
	case style == yamlDouble:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(v) + `"`
	case style != yamlSingle && isWord(v) && readsAsText(v):
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", "''") + "'"
}

// readsAsText reports whether a word without quotes is read as a string.
func readsAsText(word string) bool {
	switch strings.ToLower(word) {
	case "yes", "no", "on", "off", "=":
		return false
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: word}
	return n.ShortTag() == "!!str"
}

// insert adds a key at the end of a map: on a line of its own in block style, before the bracket in flow
// style.
func (s yamlSyntax) insert(src []byte, parent *node, keys []string, value any) ([]splice, error) {
	if parent.kind == Map && parent.style == yamlFlow {
		return s.insertFlow(src, parent, keys, value)
	}
	indent := ""
	switch {
	case parent.kind == Map && len(parent.entries) > 0:
		first := parent.entries[0].keyStart
		indent = strings.Repeat(" ", yamlColumn(src, first))
	case parent.style != yamlEmpty:
		return nil, fmt.Errorf("%w: it is written as %s", ErrFixed, src[parent.start:parent.end])
	case parent.end < len(src) || len(bytes.TrimSpace(src[:parent.start])) > 0 && !onlyComments(src):
		indent = indentation(src, parent.start) + yamlUnit(src)
	}
	lines := yamlLinesOf(keys, value, indent, yamlUnit(src), newline(src))
	return []splice{appendLine(src, yamlTail(src, parent), lines)}, nil
}

func yamlColumn(src []byte, at int) int {
	return len([]rune(string(bytes.TrimPrefix(src[lineStart(src, at):at], []byte(bom)))))
}

// onlyComments reports whether a file contains no value at all.
func onlyComments(src []byte) bool {
	for line := range bytes.Lines(bytes.TrimPrefix(src, []byte(bom))) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

// yamlTail returns the last byte of a map's text, including a comment on its last line. Blank lines after
// a block of text that keeps them are part of it.
func yamlTail(src []byte, n *node) int {
	last := n
	for len(last.entries) > 0 {
		last = last.entries[len(last.entries)-1].value
	}
	end := max(n.end, last.end)
	if last.style == yamlText && strings.Contains(string(src[last.start:lineEnd(src, last.start)]), "+") {
		for end < len(src) && len(bytes.TrimSpace(src[end:lineEnd(src, min(end+1, len(src)))])) == 0 {
			next := lineEnd(src, min(end+1, len(src)))
			if next == end {
				break
			}
			end = next
		}
	}
	return lineEnd(src, end)
}

// appendLine inserts lines after the line that ends at a byte.
func appendLine(src []byte, at int, lines string) splice {
	nl := newline(src)
	if at <= contentStart(src) {
		if at < len(src) {
			lines += nl
		}
		return splice{at, at, lines}
	}
	if at == len(src) && src[at-1] == '\n' {
		return splice{at, at, lines + nl}
	}
	return splice{at, at, nl + lines}
}

// yamlUnit returns a file's indentation unit: how much further its first indented line is indented than the
// line before.
func yamlUnit(src []byte) string {
	previous := 0
	for line := range bytes.Lines(src) {
		text := bytes.TrimLeft(line, " ")
		if len(bytes.TrimSpace(text)) == 0 || text[0] == '#' {
			continue
		}
		spaces := len(line) - len(text)
		if spaces > previous && text[0] != '-' {
			return strings.Repeat(" ", spaces-previous)
		}
		previous = spaces
	}
	return "  "
}

// yamlLinesOf returns nested keys with a value, one key per line.
func yamlLinesOf(keys []string, value any, indent, unit, nl string) string {
	var lines []string
	for i, key := range keys {
		line := indent + strings.Repeat(unit, i) + yamlString(key, yamlPlain) + ":"
		if i == len(keys)-1 {
			text, _ := yamlRender("", &node{style: yamlPlain}, value)
			line += " " + text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, nl)
}

func (yamlSyntax) insertFlow(src []byte, parent *node, keys []string, value any) ([]splice, error) {
	style := yamlPlain
	if len(parent.entries) > 0 && src[parent.entries[0].keyStart] == '"' {
		style = yamlDouble
	}
	text, _ := yamlRender("", &node{style: yamlPlain}, value)
	for i := len(keys) - 1; i >= 0; i-- {
		if text = yamlString(keys[i], style) + ": " + text; i > 0 {
			text = "{" + text + "}"
		}
	}
	return bracketInsert(src, parent, text, "#"), nil
}
