// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"slices"
	"strings"
)

func (pythonSyntax) render(_ []byte, old *node, value any) (string, any, error) {
	if s, ok := old.data.(string); ok && numeric(s) && value != nil {
		value = bare(value)
	}
	if old.kind == Expression {
		return "", nil, fmt.Errorf("%w: Python computes it", ErrFixed)
	}
	return pyText(value, old.style), value, nil
}

// pyText returns a value as Python. A string gets the quotes of the old one.
func pyText(value any, quote string) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		return likeBool(v, "True")
	case string:
		if quote != "'" {
			quote = `"`
		}
		return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(v) + quote
	}
	return bare(value)
}

// isIdentifier reports whether a key can be a name in Python.
func isIdentifier(key string) bool { return key != "" && nameEnd(key, "") == len(key) }

// insert adds a key to a dict or a call, or an assignment after the last one.
func (pythonSyntax) insert(src []byte, parent *node, keys []string, value any) ([]splice, error) {
	inside := *parent
	inside.entries = slices.DeleteFunc(slices.Clone(parent.entries), func(e entry) bool {
		return e.keyStart < parent.start || e.keyStart >= parent.end
	})
	quote := `"`
	text := pyText(value, quote)
	for i := len(keys) - 1; i > 0; i-- {
		text = "{" + pyText(keys[i], quote) + ": " + text + "}"
	}
	switch parent.style {
	case pyDict:
		if len(inside.entries) > 0 && src[inside.entries[0].keyStart] == '\'' {
			text = strings.ReplaceAll(text, `"`, "'")
			quote = "'"
		}
		return bracketInsert(src, &inside, pyText(keys[0], quote)+": "+text, "#"), nil
	case pyCall:
		if !isIdentifier(keys[0]) {
			return nil, fmt.Errorf("%w: %s is not a valid argument name", ErrKind, keys[0])
		}
		if len(inside.entries) == 0 && !emptyCall(src, parent) {
			return nil, fmt.Errorf("%w: the call has no keyword arguments", ErrFixed)
		}
		return bracketInsert(src, &inside, keys[0]+"="+text, "#"), nil
	case pyBlock:
		if !isIdentifier(keys[0]) || len(parent.entries) == 0 {
			return nil, fmt.Errorf("%w: there is nowhere to add %s", ErrFixed, keys[0])
		}
		return []splice{pyAppend(src, parent, keys[0]+" = "+text)}, nil
	}
	return nil, fmt.Errorf("%w: there is nowhere to add %s", ErrFixed, keys[0])
}

// emptyCall reports whether a call has nothing between its brackets.
func emptyCall(src []byte, n *node) bool {
	text := string(src[n.start:n.end])
	open := strings.IndexByte(text, '(')
	return open >= 0 && strings.TrimSpace(text[open+1:len(text)-1]) == ""
}

// pyAppend adds a statement after the last simple assignment of a block.
func pyAppend(src []byte, block *node, statement string) splice {
	last := block.entries[len(block.entries)-1]
	for _, e := range slices.Backward(block.entries) {
		if e.value.style != pyBlock && e.value.style != pyAttr {
			last = e
			break
		}
	}
	return appendLine(src, lineEnd(src, last.value.end), indentation(src, last.keyStart)+statement)
}
