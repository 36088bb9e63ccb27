// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"strconv"
	"strings"
)

// braced expands {a,b} and {1..4} in an unquoted word.
func (r *runner) braced(w word) []word {
	for i, p := range w.parts {
		open := strings.IndexByte(p.text, '{')
		if p.kind != literalPart || p.quoted || open < 0 {
			continue
		}
		closing := strings.IndexByte(p.text[open:], '}')
		if closing < 0 {
			continue
		}
		inside := p.text[open+1 : open+closing]
		items := braceItems(inside)
		if len(items) < 2 || !r.spend(len(items)*len(w.parts)) {
			continue
		}
		var out []word
		for _, item := range items {
			at := -1
			if k := strings.Index(inside, item.text); item.written && p.at >= 0 {
				at = p.at + open + 1 + max(item.at, k*0)
			}
			made := word{raw: w.raw, start: -1, end: -1}
			made.parts = append(made.parts, w.parts[:i]...)
			made.parts = append(made.parts, part{text: p.text[:open], at: p.at}, part{text: item.text, at: at}, part{text: p.text[open+closing+1:], at: -1})
			made.parts = append(made.parts, w.parts[i+1:]...)
			out = append(out, r.braced(made)...)
		}
		return out
	}
	return []word{w}
}

// braceItem is one alternative of a brace expansion.
type braceItem struct {
	text    string
	at      int // offset within the braces
	written bool
}

// braceItems returns the texts that {…} expands to; fewer than two if it is literal.
func braceItems(inside string) []braceItem {
	if strings.ContainsAny(inside, "{}") {
		return nil
	}
	if first, last, ok := strings.Cut(inside, ".."); ok {
		from, err := strconv.Atoi(first)
		to, bad := strconv.Atoi(last)
		if err != nil || bad != nil || to-from > 100 || from-to > 100 {
			return nil
		}
		var out []braceItem
		step := 1
		if to < from {
			step = -1
		}
		for n := from; n != to+step; n += step {
			out = append(out, braceItem{text: strconv.Itoa(n)})
		}
		return out
	}
	var out []braceItem
	at := 0
	for text := range strings.SplitSeq(inside, ",") {
		out = append(out, braceItem{text, at, true})
		at += len(text) + 1
	}
	return out
}
