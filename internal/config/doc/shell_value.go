// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"sort"
	"strings"

	"snug/internal/shellsrc"
)

// value returns the value of a word, or of the part of a word after a flag and its equals sign. at is the
// position to report if the word is not written in one place.
func (p *shParser) value(w shellsrc.Word, at int) *node {
	n := &node{kind: Expression, start: w.Start, end: w.End, style: shPlain, fixed: w.Why()}
	if n.start < 0 || n.end < n.start {
		n.start, n.end = at, at
	}
	if target := p.definitions[w.Definition]; w.Variable != "" && target != nil && target.style != shComputed {
		n.name, n.target, n.fixed = "$"+w.Variable, target, ""
		return n
	}
	if n.fixed != "" {
		n.ends = w.Ends()
		return n
	}
	text, _ := w.Text()
	n.kind, n.data = shData(text)
	if entries := jsonEntries(text, n); entries != nil {
		n.kind, n.data, n.entries, n.style, n.fixed = Map, nil, entries, shComputed, inJSON
		return n
	}
	if len(w.Pieces) == 1 && w.Pieces[0].At >= 0 && p.written(n, w.Pieces[0]) {
		return p.owned(n, at)
	}
	if text == "" && n.start < n.end && len(w.From) == 0 || n.start == n.end && len(w.Pieces) == 0 {
		n.style = p.src[n.start:n.end]
		n.style = map[string]string{`""`: shDouble, "''": shSingle}[n.style]
		if n.style == "" {
			n.style = shPlain
		}
		return n
	}
	n.style, n.fixed = shComputed, "the shell builds it from parts"
	for _, from := range w.From {
		if d := p.definitions[from]; d != nil && (n.kind == Int || n.kind == Float) {
			n.derived = append(n.derived, d)
		}
	}
	return n
}

// owned returns the value of a text in the script. If the text belongs to a variable, the value refers to the
// variable. If another flag uses the same text, neither can be changed alone.
func (p *shParser) owned(n *node, at int) *node {
	owner := p.owners[n.start]
	if owner == nil || n.start == n.end {
		p.owners[n.start] = n
		return n
	}
	if variable := p.names[owner]; variable != "" {
		return &node{kind: Expression, start: at, end: at, style: shPlain, name: "$" + variable, target: owner}
	}
	owner.fixed = "several flags get the same text"
	n.fixed, n.style = owner.fixed, shComputed
	return n
}

// written sets the position and the quoting of a value's text, and reports whether the text can be replaced
// there.
func (p *shParser) written(n *node, piece shellsrc.Piece) bool {
	start, end := piece.At, piece.At+len(piece.Text)
	if end > len(p.src) || p.src[start:end] != piece.Text {
		return false
	}
	quote := ""
	if start > 0 && end < len(p.src) && (p.src[start-1] == '"' || p.src[start-1] == '\'') && p.src[end] == p.src[start-1] {
		quote = p.src[start-1 : start]
	}
	n.start, n.end, n.fixed = start, end, ""
	switch word := p.wordAt(start); {
	case word.End == end && (word.Start == start || p.src[start-1] == '='):
		n.style = shPlain
	case quote != "" && word.End == end+1 && (word.Start == start-1 || p.src[start-2] == '='):
		n.start, n.end, n.style = start-1, end+1, quote
	case end < len(p.src) && p.src[end] == '}':
		n.style = shDefault
	default:
		n.style = shWithin
	}
	return n.style != shPlain || isLiteral(piece.Text) || !strings.ContainsAny(piece.Text, `\$`)
}

// wordAt returns the word, as written, at a byte.
func (p *shParser) wordAt(at int) shellsrc.RawWord {
	i := sort.Search(len(p.words), func(i int) bool { return p.words[i].Start > at })
	for i--; i >= 0 && p.words[i].End <= at && p.words[i].Start == p.words[i].End; i-- {
	}
	if i < 0 {
		return shellsrc.RawWord{Start: -1, End: -1}
	}
	return p.words[i]
}
