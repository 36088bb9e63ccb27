// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

func readModel(raw json.RawMessage) (model, error) {
	kind, err := kindOf(raw)
	if err != nil {
		return nil, err
	}
	if kind == "" {
		kind = guessModel(raw)
	}
	switch kind {
	case "BPE":
		return readBPE(raw)
	case "WordPiece":
		return readWordPiece(raw)
	case "Unigram":
		return readUnigram(raw)
	case "WordLevel":
		return wordLevel{}, nil
	}
	return nil, refused("model", kind)
}

// guessModel returns the kind of a model from its fields, for old files that do not name it.
func guessModel(raw json.RawMessage) string {
	var v struct {
		Merges  json.RawMessage `json:"merges"`
		Vocab   json.RawMessage `json:"vocab"`
		Longest json.RawMessage `json:"max_input_chars_per_word"`
	}
	_ = json.Unmarshal(raw, &v)
	switch {
	case v.Merges != nil:
		return "BPE"
	case v.Longest != nil:
		return "WordPiece"
	case len(v.Vocab) > 0 && v.Vocab[0] == '[':
		return "Unigram"
	}
	return "of an unknown type"
}

// wordLevel has one token for each word, known or not.
type wordLevel struct{}

func (wordLevel) count(string) int { return 1 }

// wordPiece is BERT's model: the longest known prefix of a word, then the longest continuation, and so on.
type wordPiece struct {
	vocab   map[string]int
	prefix  string
	longest int // maximum characters in a word; longer words are unknown
	piece   int // length of the longest piece in bytes
}

func readWordPiece(raw json.RawMessage) (model, error) {
	var v struct {
		Vocab   map[string]int `json:"vocab"`
		Prefix  *string        `json:"continuing_subword_prefix"`
		Longest *int           `json:"max_input_chars_per_word"`
	}
	if err := decode(raw, &v); err != nil {
		return nil, err
	}
	w := &wordPiece{vocab: v.Vocab, prefix: "##", longest: 100}
	if v.Prefix != nil {
		w.prefix = *v.Prefix
	}
	if v.Longest != nil {
		w.longest = *v.Longest
	}
	for piece := range v.Vocab {
		w.piece = max(w.piece, len(piece))
	}
	return w, nil
}

func (w *wordPiece) count(word string) (n int) {
	if utf8.RuneCountInString(word) > w.longest {
		return 1 // one token for an unknown word
	}
	for at := 0; at < len(word); n++ {
		end := w.next(word, at)
		if end < 0 {
			return 1
		}
		at = end
	}
	return n
}

// next returns the end of the longest piece that begins at word[at:], or -1 if there is none.
func (w *wordPiece) next(word string, at int) int {
	prefix := ""
	if at > 0 {
		prefix = w.prefix
	}
	for end := min(len(word), at+w.piece); end > at; end-- {
		if end < len(word) && !utf8.RuneStart(word[end]) {
			continue
		}
		if _, ok := w.vocab[prefix+word[at:end]]; ok {
			return end
		}
	}
	return -1
}

// byteToken returns the name of a byte's token.
func byteToken(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// byteTokens reports whether a vocabulary has a token for each byte of a text.
func byteTokens(text string, has func(token string) bool) bool {
	for i := range len(text) {
		if !has(byteToken(text[i])) {
			return false
		}
	}
	return true
}

// readSpecials returns how many tokens a post-processor adds to one text.
func readSpecials(raw json.RawMessage) (n int, err error) {
	kind, err := kindOf(raw)
	if err != nil || kind == "" {
		return 0, err
	}
	switch kind {
	case "ByteLevel":
		return 0, nil
	case "BertProcessing", "RobertaProcessing":
		return 2, nil
	case "TemplateProcessing":
		return templateSpecials(raw)
	case "Sequence":
		var v struct{ Processors []json.RawMessage }
		if err := decode(raw, &v); err != nil {
			return 0, err
		}
		for _, p := range v.Processors {
			more, err := readSpecials(p)
			if err != nil {
				return 0, err
			}
			n += more
		}
		return n, nil
	}
	return 0, refused("post-processor", kind)
}

func templateSpecials(raw json.RawMessage) (n int, err error) {
	var v struct {
		Single []struct {
			SpecialToken *struct {
				ID string `json:"id"`
			}
		} `json:"single"`
		Special map[string]struct {
			IDs []int `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := decode(raw, &v); err != nil {
		return 0, err
	}
	for _, s := range v.Single {
		if s.SpecialToken != nil {
			n += len(v.Special[s.SpecialToken.ID].IDs)
		}
	}
	return n, nil
}

// mergePair returns the two tokens of a merge, which is written as "a b" or as ["a", "b"].
func mergePair(raw json.RawMessage) (a, b string, err error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		a, b, ok := strings.Cut(text, " ")
		if !ok {
			return "", "", fmt.Errorf("its merge %q has no space", text)
		}
		return a, b, nil
	}
	var pair [2]string
	if err := json.Unmarshal(raw, &pair); err != nil {
		return "", "", fmt.Errorf("its merge %.60s is not a pair", raw)
	}
	return pair[0], pair[1], nil
}
