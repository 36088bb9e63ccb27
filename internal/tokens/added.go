// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is cut out of a text before the model sees it.
type addedToken struct {
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
}

// added is a set of added tokens, by their first byte, longest first.
type added struct{ by [256][]addedToken }

func (a *added) add(content string, t addedToken) {
	if content == "" {
		return
	}
	t.Content = content
	list := append(a.by[content[0]], t)
	slices.SortStableFunc(list, func(x, y addedToken) int { return cmp.Compare(len(y.Content), len(x.Content)) })
	a.by[content[0]] = list
}

// cut calls part for each part of a text in order, with its offset: added tokens, and the texts between them. The
// leftmost token comes first; if several begin at one place, the longest.
func (a *added) cut(text string, part func(text string, at int, token bool)) {
	from := 0
	rest := func(to int) {
		if to > from {
			part(text[from:to], from, false)
		}
	}
	for i := 0; i < len(text); {
		t, ok := a.at(text, i)
		if !ok {
			i++
			continue
		}
		start, end := i, i+len(t.Content)
		i = end
		if t.SingleWord && !alone(text, start, end) {
			continue
		}
		if t.LStrip {
			start = max(len(strings.TrimRightFunc(text[:start], unicode.IsSpace)), from)
		}
		if t.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		if start < from { // the previous token has consumed the space
			start = from
		}
		rest(start)
		part(text[start:end], start, true)
		from = end
		i = max(i, end)
	}
	rest(len(text))
}

// at returns the longest token that begins at text[i], if any.
func (a *added) at(text string, i int) (addedToken, bool) {
	for _, t := range a.by[text[i]] {
		if strings.HasPrefix(text[i:], t.Content) {
			return t, true
		}
	}
	return addedToken{}, false
}

// alone reports whether text[start:end] is not adjacent to a letter or digit.
func alone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return (start == 0 || !isWord(before)) && (end == len(text) || !isWord(after))
}
