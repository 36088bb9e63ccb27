// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"snug/internal/shadow"
)

// minimumWarmup is the threshold above which caching_allocator_warmup reserves missing bytes even if most of the
// memory is already reserved.
const minimumWarmup = 3 << 29

// LoadToCard is from_pretrained with a device_map (transformers 5.17, modeling_utils.py and
// core_model_loading.py): memory for the weights is reserved at once, and the weights are copied into it in name
// order. unused is the memory PyTorch has already reserved but does not use. Four threads copy, so adjacent weights
// may be copied in either order.
func (b *Builder) LoadToCard(unused uint64) {
	var need uint64
	for _, p := range b.all {
		need += p.Bytes()
	}
	b.W.Op("get_max_memory")
	b.W.Scratch(shadow.Int64.Bytes())
	b.W.Op("caching_allocator_warmup")
	if n := warmup(need, unused); n > 0 {
		b.W.Scratch(n)
	}
	inOrder := slices.Clone(b.all)
	slices.SortStableFunc(inOrder, func(x, y *shadow.Tensor) int {
		return slices.CompareFunc(naturalKey(x.Name()), naturalKey(y.Name()), part.compare)
	})
	for _, p := range inOrder {
		p.Fill()
	}
	b.apply(func(t *shadow.Tensor) {
		if !t.Here() {
			t.Fill()
		}
	})
}

// warmup returns how many bytes caching_allocator_warmup allocates temporarily.
func warmup(need, unused uint64) uint64 {
	switch {
	case need > 2*unused:
		need -= unused
	case need > unused+minimumWarmup:
		need = unused + 1
	default:
		return 0
	}
	return need / 2 * 2 // caching_allocator_warmup allocates float16 elements
}

// part is a dot-separated part of a name: a number, or a word that may end in a number.
type part struct {
	word   string
	number int
	digits bool // the whole part is a number
}

func (p part) compare(q part) int {
	if p.digits != q.digits {
		if p.digits {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.word, q.word), cmp.Compare(p.number, q.number))
}

// naturalKey is dot_natural_key: numbers sort before words, and by value.
func naturalKey(name string) (key []part) {
	for text := range strings.SplitSeq(name, ".") {
		word := strings.TrimRight(text, "0123456789")
		n, err := strconv.Atoi(text[len(word):])
		if err != nil {
			n = -1
		}
		key = append(key, part{word: word, number: n, digits: word == ""})
	}
	return key
}
