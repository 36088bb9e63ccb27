// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of a text; first means that it is at the beginning of the text.
type piece struct {
	text  string
	first bool
}

// splitter is a list of functions that split a text into words, applied in order.
type splitter []func(p piece) []piece

func (s splitter) split(pieces []piece) []piece {
	for _, step := range s {
		var out []piece
		for _, p := range pieces {
			if p.text != "" {
				out = append(out, step(p)...)
			}
		}
		pieces = out
	}
	return pieces
}

// splitterFields are all fields that a pre-tokenizer may have.
type splitterFields struct {
	PreTokenizers  []json.RawMessage `json:"pretokenizers"`
	AddPrefixSpace *bool             `json:"add_prefix_space"`
	UseRegex       *bool             `json:"use_regex"`
	Replacement    string            `json:"replacement"`
	PrependScheme  string            `json:"prepend_scheme"`
	Split          *bool             `json:"split"`
	Individual     bool              `json:"individual_digits"`
	Behavior       string            `json:"behavior"`
	Pattern        pattern           `json:"pattern"`
	Invert         bool              `json:"invert"`
	Delimiter      string            `json:"delimiter"`
}

func readSplitter(raw json.RawMessage) (splitter, error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return nil, err
	}
	var f splitterFields
	if err := decode(raw, &f); err != nil {
		return nil, err
	}
	switch kind {
	case "Sequence":
		return f.sequence()
	case "ByteLevel":
		return f.byteLevel(), nil
	case "Metaspace":
		return f.metaspace()
	case "Split":
		find, err := f.Pattern.matcher()
		if err != nil {
			return nil, err
		}
		return f.by(find, f.Behavior, f.Invert)
	}
	return f.simple(kind)
}

// simple returns a pre-tokenizer that examines single characters.
func (f *splitterFields) simple(kind string) (splitter, error) {
	switch kind {
	case "Whitespace":
		find, err := compile(`\w+|[^\w\s]+`)
		if err != nil {
			return nil, err
		}
		return f.by(find, "Removed", true)
	case "WhitespaceSplit":
		return f.by(each(unicode.IsSpace), "Removed", false)
	case "BertPreTokenizer":
		spaces, _ := f.by(each(unicode.IsSpace), "Removed", false)
		marks, _ := f.by(each(isPunctuation), "Isolated", false)
		return append(spaces, marks...), nil
	case "Punctuation":
		behavior := f.Behavior
		if behavior == "" {
			behavior = "Isolated"
		}
		return f.by(each(isPunctuation), behavior, false)
	case "Digits":
		if f.Individual {
			return f.by(each(unicode.IsNumber), "Isolated", false)
		}
		return f.by(each(unicode.IsNumber), "Contiguous", false)
	case "CharDelimiterSplit":
		return f.by(each(func(r rune) bool { return strings.ContainsRune(f.Delimiter, r) }), "Removed", false)
	}
	return nil, refused("pre-tokenizer", kind)
}

func (f *splitterFields) sequence() (out splitter, err error) {
	for _, raw := range f.PreTokenizers {
		one, err := readSplitter(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

// byteLevel prepends a space, splits as GPT-2 does, and writes each byte as a character.
func (f *splitterFields) byteLevel() splitter {
	var out splitter
	if f.AddPrefixSpace == nil || *f.AddPrefixSpace {
		out = append(out, func(p piece) []piece {
			if !strings.HasPrefix(p.text, " ") {
				p.text = " " + p.text
			}
			return []piece{p}
		})
	}
	if f.UseRegex == nil || *f.UseRegex {
		steps, _ := f.by(gpt2, "Isolated", false)
		out = append(out, steps...)
	}
	return append(out, func(p piece) []piece { return []piece{{byteChars(p.text), p.first}} })
}

// metaspace makes spaces visible, prepends one, and splits before each.
func (f *splitterFields) metaspace() (splitter, error) {
	mark := f.Replacement
	if mark == "" {
		mark = "▁"
	}
	scheme := f.PrependScheme
	if scheme == "" && f.AddPrefixSpace != nil && !*f.AddPrefixSpace {
		scheme = "never"
	}
	out := splitter{func(p piece) []piece {
		p.text = strings.ReplaceAll(p.text, " ", mark)
		front := scheme != "never" && (scheme != "first" || p.first)
		if front && !strings.HasPrefix(p.text, mark) {
			p.text = mark + p.text
		}
		return []piece{p}
	}}
	if f.Split != nil && !*f.Split {
		return out, nil
	}
	find, err := pattern{String: &mark}.matcher()
	if err != nil {
		return nil, err
	}
	steps, err := f.by(find, "MergedWithNext", false)
	return append(out, steps...), err
}

// by returns a splitter at the matches of find. behavior is one of the library's SplitDelimiterBehavior.
func (f *splitterFields) by(find finder, behavior string, invert bool) (splitter, error) {
	join := map[string]func([]match) []match{
		"Removed": removed, "Isolated": func(all []match) []match { return all }, "Contiguous": contiguous,
		"MergedWithPrevious": mergedWithPrevious, "MergedWithNext": mergedWithNext,
	}[behavior]
	if join == nil {
		return nil, refused("split behavior", behavior)
	}
	return splitter{func(p piece) (out []piece) {
		found := matches(p.text, find)
		if invert {
			for i := range found {
				found[i].is = !found[i].is
			}
		}
		for _, m := range join(found) {
			out = append(out, piece{p.text[m.from:m.to], p.first && m.from == 0})
		}
		return out
	}}, nil
}

func removed(all []match) []match { return slices.DeleteFunc(all, func(m match) bool { return m.is }) }

func contiguous(all []match) []match {
	return merged(all, func(before, m match) bool { return m.is == before.is })
}

func mergedWithPrevious(all []match) []match {
	return merged(all, func(before, m match) bool { return m.is && !before.is })
}

func mergedWithNext(all []match) []match {
	return merged(all, func(before, m match) bool { return before.is && !m.is })
}

// merged joins each match to the previous one if join returns true for the two.
func merged(all []match, join func(before, m match) bool) (out []match) {
	for i, m := range all {
		if i > 0 && join(all[i-1], m) {
			out[len(out)-1].to = m.to
			continue
		}
		out = append(out, m)
	}
	return out
}

// each returns a finder of the single characters that satisfy is.
func each(is func(r rune) bool) finder {
	return func(text string, at int) int {
		if r, n := utf8.DecodeRuneInString(text[at:]); is(r) {
			return at + n
		}
		return -1
	}
}
