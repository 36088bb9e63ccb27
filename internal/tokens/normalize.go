// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/json"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer is a list of functions that are applied in order to a text before it is split.
type normalizer []func(text string) string

func (n normalizer) apply(text string) string {
	for _, f := range n {
		text = f(text)
	}
	return text
}

// normalizerFields are all fields that a normalizer may have.
type normalizerFields struct {
	Normalizers  []json.RawMessage `json:"normalizers"`
	Pattern      pattern           `json:"pattern"`
	Content      string            `json:"content"`
	Prepend      string            `json:"prepend"`
	StripLeft    bool              `json:"strip_left"`
	StripRight   bool              `json:"strip_right"`
	CleanText    bool              `json:"clean_text"`
	ChineseChars bool              `json:"handle_chinese_chars"`
	StripAccents *bool             `json:"strip_accents"`
	Lowercase    bool              `json:"lowercase"`
	CharsMap     []byte            `json:"precompiled_charsmap"`
}

func readNormalizer(raw json.RawMessage) (normalizer, error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return nil, err
	}
	var f normalizerFields
	if err := decode(raw, &f); err != nil {
		return nil, err
	}
	switch kind {
	case "Sequence":
		return f.sequence()
	case "BertNormalizer":
		return f.bert(), nil
	case "Replace":
		return f.replace()
	case "Precompiled":
		return precompiled(f.CharsMap)
	}
	if one := f.simple(kind); one != nil {
		return normalizer{one}, nil
	}
	return nil, refused("normalizer", kind)
}

// simple returns a normalizer that needs no preparation.
func (f *normalizerFields) simple(kind string) func(string) string {
	switch kind {
	case "NFC":
		return norm.NFC.String
	case "NFD":
		return norm.NFD.String
	case "NFKC":
		return norm.NFKC.String
	case "NFKD":
		return norm.NFKD.String
	case "Lowercase":
		return lower
	case "StripAccents":
		return func(s string) string { return without(s, isMark) }
	case "Nmt":
		return nmt
	case "Strip":
		return f.strip
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return f.Prepend + s
		}
	case "ByteLevel":
		return byteChars
	}
	return nil
}

func (f *normalizerFields) sequence() (out normalizer, err error) {
	for _, raw := range f.Normalizers {
		one, err := readNormalizer(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

func (f *normalizerFields) replace() (normalizer, error) {
	if f.Pattern.String != nil {
		return normalizer{func(s string) string { return strings.ReplaceAll(s, *f.Pattern.String, f.Content) }}, nil
	}
	find, err := f.Pattern.matcher()
	if err != nil {
		return nil, err
	}
	return normalizer{func(s string) string {
		var b strings.Builder
		for _, m := range matches(s, find) {
			if m.is {
				b.WriteString(f.Content)
			} else {
				b.WriteString(s[m.from:m.to])
			}
		}
		return b.String()
	}}, nil
}

func (f *normalizerFields) strip(s string) string {
	if f.StripLeft {
		s = strings.TrimLeftFunc(s, unicode.IsSpace)
	}
	if f.StripRight {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
	}
	return s
}

// bert implements BertNormalizer. If strip_accents is not given, accents are removed if lowercase is set.
func (f *normalizerFields) bert() (out normalizer) {
	if f.CleanText {
		out = append(out, clean)
	}
	if f.ChineseChars {
		out = append(out, apart)
	}
	if f.StripAccents != nil && *f.StripAccents || f.StripAccents == nil && f.Lowercase {
		out = append(out, func(s string) string { return without(norm.NFD.String(s), isAccent) })
	}
	if f.Lowercase {
		out = append(out, lower)
	}
	return out
}

// clean removes control characters and replaces every white space character with a space.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r == 0 || r == '\uFFFD' || isControl(r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, s)
}

// han are the ranges that BERT treats as Chinese characters.
var han = [][2]rune{
	{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F},
	{0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
}

// apart puts spaces around Chinese characters.
func apart(s string) string {
	var b strings.Builder
	for _, r := range s {
		if !within(r, han) {
			b.WriteRune(r)
			continue
		}
		b.WriteByte(' ')
		b.WriteRune(r)
		b.WriteByte(' ')
	}
	return b.String()
}

func within(r rune, ranges [][2]rune) bool {
	for _, x := range ranges {
		if r >= x[0] && r <= x[1] {
			return true
		}
	}
	return false
}

// without returns a text without the characters that satisfy is.
func without(s string, is func(r rune) bool) string {
	return strings.Map(func(r rune) rune {
		if is(r) {
			return -1
		}
		return r
	}, s)
}

// lower converts a text to lower case as Rust does, which turns İ into two characters.
func lower(s string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if r == 'İ' {
			return r
		}
		return unicode.ToLower(r)
	}, s), "İ", "i\u0307")
}

// nmt implements the Nmt normalizer: it removes control characters and replaces unusual spaces with plain ones.
func nmt(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8 || r == 0xB || r >= 0xE && r <= 0x1F || r == 0x7F || r == 0x8F || r == 0x9F:
			return -1
		case r == 9 || r == 0xA || r == 0xC || r == 0xD || r == 0x1680 || r >= 0x200B && r <= 0x200F,
			r == 0x2028 || r == 0x2029 || r == 0x2581 || r == 0xFEFF || r == 0xFFFD:
			return ' '
		}
		return r
	}, s)
}
