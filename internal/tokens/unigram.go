// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// unigram chooses the tokens with the largest total score.
type unigram struct {
	scores  map[string]float64
	longest int // length of the longest piece in bytes
	unknown float64
	bytes   bool // byte tokens replace unknown characters
}

// unknownPenalty is how much lower an unknown character scores than the worst piece.
const unknownPenalty = 10

func readUnigram(raw json.RawMessage) (model, error) {
	var v struct {
		Vocab    []json.RawMessage `json:"vocab"`
		Unknown  *int              `json:"unk_id"`
		Fallback bool              `json:"byte_fallback"`
	}
	if err := decode(raw, &v); err != nil {
		return nil, err
	}
	if v.Unknown == nil {
		return nil, refused("model", "Unigram without unk_id")
	}
	u := &unigram{scores: make(map[string]float64, len(v.Vocab)), bytes: v.Fallback}
	least := math.Inf(1)
	for _, raw := range v.Vocab {
		var pair [2]any
		err := json.Unmarshal(raw, &pair)
		piece, isText := pair[0].(string)
		score, isNumber := pair[1].(float64)
		if err != nil || !isText || !isNumber {
			return nil, fmt.Errorf("its piece %.60s is not a string and a score", raw)
		}
		u.scores[piece] = score
		u.longest, least = max(u.longest, len(piece)), min(least, score)
	}
	u.unknown = least - unknownPenalty
	return u, nil
}

// best is the best sequence of tokens up to a position in a word.
type best struct {
	score   float64
	from    int
	reached bool
	unknown bool // the last token is an unknown character
}

func (u *unigram) count(word string) int {
	ways := make([]best, len(word)+1)
	ways[0].reached = true
	for at := 0; at < len(word); {
		_, n := utf8.DecodeRuneInString(word[at:])
		single := false
		for end := at + 1; end <= min(len(word), at+u.longest); end++ {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			score, ok := u.scores[word[at:end]]
			if !ok {
				continue
			}
			single = single || end == at+n
			ways[end].offer(ways[at].score+score, at, false)
		}
		if !single {
			ways[at+n].offer(ways[at].score+u.unknown, at, true)
		}
		at += n
	}
	return u.back(word, ways)
}

func (b *best) offer(score float64, from int, unknown bool) {
	if !b.reached || score > b.score {
		*b = best{score, from, true, unknown}
	}
}

// back counts the tokens in the best sequence. Consecutive unknown characters are one token, or their bytes.
func (u *unigram) back(word string, ways []best) (n int) {
	for end := len(word); end > 0; {
		from := ways[end].from
		if !ways[end].unknown {
			n++
			end = from
			continue
		}
		for from > 0 && ways[from].unknown {
			from = ways[from].from
		}
		n += u.unknowns(word[from:end])
		end = from
	}
	return n
}

func (u *unigram) unknowns(text string) int {
	has := func(token string) bool { _, ok := u.scores[token]; return ok }
	if u.bytes && !has(text) && byteTokens(text, has) {
		return len(text)
	}
	return 1
}
