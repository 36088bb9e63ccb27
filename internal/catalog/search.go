// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// Entries returns all models in the order of the tables, each variant after the model whose shapes it shares. snug
// models (cli/models.go) lists them in this order.
func Entries() []Entry {
	of := map[string][]Entry{}
	for _, m := range variants() {
		v := decode[variant](m.line)
		original := match(models(), v.Of)
		of[original.name] = append(of[original.name], m.entry())
	}
	var out []Entry
	for _, m := range models() {
		out = append(out, decode[Entry](m.line))
		out = append(out, of[m.name]...)
	}
	return out
}

// Like lists the names that contain all words of a query, those with the fewest other words first. A model with a
// short name also matches by its hub name; the result has the short one. The order matters for the hint about an
// unknown model (modelHint in setup/model.go, which also limits how many are shown). snug models lists in the order
// of Entries.
func Like(query string) []string {
	type hit struct {
		name  string
		words int
	}
	want := words(query)
	if len(want) == 0 {
		return nil
	}
	var hits []hit
	for _, m := range slices.Concat(models(), variants()) {
		for _, name := range []string{m.name, path.Base(m.hub)} {
			if has := words(name); covers(has, want) {
				hits = append(hits, hit{m.name, len(has)})
				break
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.words - b.words })
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.name
	}
	return out
}

// words splits a name at everything except letters and digits, in lower case. A point between digits is kept, so that
// 3.1 is one word.
func words(name string) []string {
	low := []rune(strings.ToLower(name))
	digit := func(i int) bool { return i >= 0 && i < len(low) && unicode.IsDigit(low[i]) }
	for i, r := range low {
		if r == '.' && digit(i-1) && digit(i+1) || unicode.IsLetter(r) || unicode.IsDigit(r) {
			continue
		}
		low[i] = ' '
	}
	return strings.Fields(string(low))
}

// covers reports whether a name has each of the words. The last word may be incomplete, as in resn.
func covers(has, want []string) bool {
	for i, w := range want {
		last := i == len(want)-1
		if !slices.ContainsFunc(has, func(h string) bool { return h == w || last && strings.HasPrefix(h, w) }) {
			return false
		}
	}
	return true
}
