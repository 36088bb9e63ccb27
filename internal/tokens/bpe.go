// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// bpe merges the characters of a word: always the pair that was learned first, and among equal pairs the leftmost.
type bpe struct {
	vocab        map[string]int
	merges       map[[2]int]merge
	unknown      int // the token for unknown characters; -1 if there is none
	prefix, end  string
	fuses, bytes bool // fuses: consecutive unknown characters are one token; bytes: byte tokens replace them if in the vocabulary
	whole        bool // a word that is a token is not merged
}

// merge is the token that two tokens are merged into, and its rank in the order of learning.
type merge struct{ rank, id int }

func readBPE(raw json.RawMessage) (model, error) {
	var v struct {
		Vocab    map[string]int    `json:"vocab"`
		Merges   []json.RawMessage `json:"merges"`
		Unknown  *string           `json:"unk_token"`
		Prefix   string            `json:"continuing_subword_prefix"`
		End      string            `json:"end_of_word_suffix"`
		Fuse     bool              `json:"fuse_unk"`
		Fallback bool              `json:"byte_fallback"`
		Ignore   bool              `json:"ignore_merges"`
		Dropout  *float64          `json:"dropout"`
	}
	if err := decode(raw, &v); err != nil {
		return nil, err
	}
	if v.Dropout != nil && *v.Dropout > 0 {
		return nil, refused("model", "with dropout, whose counts are random,")
	}
	b := &bpe{vocab: v.Vocab, merges: make(map[[2]int]merge, len(v.Merges)), unknown: -1, prefix: v.Prefix, end: v.End, fuses: v.Fuse, bytes: v.Fallback, whole: v.Ignore}
	if v.Unknown != nil {
		if id, ok := v.Vocab[*v.Unknown]; ok {
			b.unknown = id
		}
	}
	for rank, raw := range v.Merges {
		if err := b.learn(rank, raw); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (b *bpe) learn(rank int, raw json.RawMessage) error {
	left, right, err := mergePair(raw)
	if err != nil {
		return err
	}
	x, okX := b.vocab[left]
	y, okY := b.vocab[right]
	if !okX || !okY || len(right) < len(b.prefix) {
		return fmt.Errorf("it merges %q and %q, which are not both among its tokens", left, right)
	}
	id, ok := b.vocab[left+right[len(b.prefix):]]
	if !ok {
		return fmt.Errorf("it merges %q and %q into a token that it does not have", left, right)
	}
	b.merges[[2]int{x, y}] = merge{rank, id}
	return nil
}

// symbol is a token of a word that is being merged, with links to its neighbors.
type symbol struct {
	id         int
	prev, next int
	gone       bool
}

func (b *bpe) count(word string) int {
	if b.whole {
		if _, ok := b.vocab[word]; ok {
			return 1
		}
	}
	return b.merged(b.symbols(word))
}

// symbols returns the characters of a word as tokens.
func (b *bpe) symbols(word string) []symbol {
	out := make([]symbol, 0, len(word))
	pending := false // an unknown token must still be added
	add := func(id int) { out = append(out, symbol{id: id, prev: len(out) - 1, next: len(out) + 1}) }
	for at := 0; at < len(word); {
		_, n := utf8.DecodeRuneInString(word[at:])
		text := word[at : at+n]
		if at > 0 {
			text = b.prefix + text
		}
		if at += n; at == len(word) {
			text += b.end
		}
		if id, ok := b.vocab[text]; ok {
			if pending {
				add(b.unknown)
				pending = false
			}
			add(id)
			continue
		}
		if b.bytes && byteTokens(text, b.has) {
			for i := range len(text) {
				add(b.vocab[byteToken(text[i])])
			}
			continue
		}
		if b.unknown < 0 {
			continue // the library drops the character
		}
		if pending && !b.fuses {
			add(b.unknown)
		}
		pending = true
	}
	if pending {
		add(b.unknown)
	}
	return out
}

func (b *bpe) has(token string) bool {
	_, ok := b.vocab[token]
	return ok
}

// merged returns how many tokens are left when nothing more can be merged.
func (b *bpe) merged(s []symbol) int {
	n := len(s)
	if n < 2 {
		return n
	}
	s[n-1].next = -1
	queue := make(candidates, 0, n)
	for i := range n - 1 {
		if m, ok := b.merges[[2]int{s[i].id, s[i+1].id}]; ok {
			queue = append(queue, candidate{m, i})
		}
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		c := heap.Pop(&queue).(candidate)
		left := &s[c.at]
		if left.gone || left.next < 0 {
			continue
		}
		right := &s[left.next]
		if m, ok := b.merges[[2]int{left.id, right.id}]; !ok || m.id != c.id {
			continue // one token of the pair has already been merged
		}
		left.id, right.gone, left.next = c.id, true, right.next
		n--
		if left.next >= 0 {
			s[left.next].prev = c.at
			queue.offer(b, s, c.at, left.next)
		}
		if left.prev >= 0 {
			queue.offer(b, s, left.prev, c.at)
		}
	}
	return n
}

// candidate is a pair that may be merged, by the position of its left token.
type candidate struct {
	merge
	at int
}

// candidates is a heap of pairs.
type candidates []candidate

func (q candidates) Len() int { return len(q) }
func (q candidates) Less(i, j int) bool {
	return q[i].rank < q[j].rank || q[i].rank == q[j].rank && q[i].at < q[j].at
}
func (q candidates) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *candidates) Push(x any) { *q = append(*q, x.(candidate)) }

// Pop implements heap.Interface.
func (q *candidates) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func (q *candidates) offer(b *bpe, s []symbol, left, right int) {
	if m, ok := b.merges[[2]int{s[left].id, s[right].id}]; ok {
		heap.Push(q, candidate{m, left})
	}
}
