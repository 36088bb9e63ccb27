// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"snug/internal/spelling"
	"snug/internal/units"
)

// UnknownError means that a name matches no card, or more than one.
type UnknownError struct {
	What string // what is wrong with the name
	Hint string // advice that the command line adds
}

// Error returns what is wrong with the name, and the advice.
func (e *UnknownError) Error() string { return e.What + e.Hint }

func unknown(hint, format string, args ...any) error {
	return &UnknownError{fmt.Sprintf(format, args...), hint}
}

// Find returns the card with the given name, as people write it (rtx4090, a100-40) or as a driver prints it (NVIDIA
// A100-SXM4-80GB). Case, separators, word order and manufacturer prefixes do not matter. A name that matches several
// cards is an error.
func Find(name string) (Card, error) {
	want := words(name)
	if c, ok := lookup(want); ok {
		return c, nil
	}
	if n, one := several(name); n > 0 {
		return Card{}, unknown("", "GPU %q means %d cards; give --gpus %d --gpu %s", name, n, n, one)
	}
	if gb, ok := onlySize(want); ok {
		if some := SoldAlike(gb); len(some) > 1 {
			return Card{}, unknown(fmt.Sprintf("; or give --gpu-memory %d", gb), "GPU %q is only a size, which several cards have: %s; name one", name, namesOf(some))
		}
	}
	if strings.Contains(name, ",") {
		return Card{}, unknown("; snug optimize compares several", "GPU %q is a list, but one card is needed here", name)
	}
	some := mentioning(want)
	if c, ok := plainest(some); ok {
		return c, nil
	}
	if len(some) > 1 {
		return Card{}, unknown("", "GPU %q matches several cards: %s; name one", name, list(some, 6, "and"))
	}
	if near := nearest(want); len(near) > 0 {
		return Card{}, unknown(" (snug gpus --all lists them)", "unknown GPU %q; did you mean %s?", name, list(near, 3, "or"))
	}
	return Card{}, unknown("; snug gpus --all lists the known ones; for another, give its memory with --gpu-memory", "unknown GPU %q", name)
}

// several returns the number of cards in a name such as 4xA100 or A100x4, and the card's name; 0 for other names.
func several(name string) (int, string) {
	for i, r := range name {
		if !strings.ContainsRune("xX×*", r) {
			continue
		}
		before, after := strings.TrimSpace(name[:i]), strings.TrimSpace(name[i+utf8.RuneLen(r):])
		for _, part := range [][2]string{{before, after}, {after, before}} {
			n, err := strconv.Atoi(part[0])
			_, known := lookup(words(part[1]))
			if err == nil && n > 0 && (known || len(mentioning(words(part[1]))) > 0) {
				return n, part[1]
			}
		}
	}
	return 0, ""
}

// onlySize returns the GB of a name that is only a size: 48GB, 24.
func onlySize(want []string) (int, bool) {
	if len(want) != 1 {
		return 0, false
	}
	gb, err := strconv.Atoi(strings.TrimSuffix(want[0], "gb"))
	return gb, err == nil
}

// namesOf lists the first few cards with their memory.
func namesOf(some []Card) string {
	var names []string
	for _, c := range some[:min(len(some), 8)] {
		names = append(names, fmt.Sprintf("%s (%v)", c.Name, units.Bytes(c.Total)))
	}
	if len(some) > len(names) {
		names = append(names, fmt.Sprintf("%d more", len(some)-len(names)))
	}
	return strings.Join(names, ", ")
}

// noise lists words that do not distinguish cards: manufacturers, series, and the default form factor.
var noise = []string{
	"nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "rtx", "gtx", "gpu", "graphics", "generation",
	"blackwell", "workstation", "edition", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "oam", "hbm2", "hbm2e", "hbm3", "hbm3e",
}

// words returns the words of a name, in lower case and without noise.
func words(name string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		for _, series := range []string{"geforce", "rtx", "gtx"} { // rtx4090
			if rest := strings.TrimPrefix(w, series); rest != "" {
				w = rest
			}
		}
		if !slices.Contains(noise, w) {
			out = append(out, w)
		}
	}
	return out
}

// lookup returns the card whose name has exactly these words.
func lookup(want []string) (Card, bool) {
	joined := strings.Join(want, "")
	for _, e := range catalog() {
		for _, has := range e.names {
			if joins(has, joined) || len(want) == len(has) && covers(has, want) {
				return e.Card, true
			}
		}
	}
	return Card{}, false
}

// joins reports whether the words joined together are the name.
func joins(words []string, name string) bool {
	for _, w := range words {
		rest, ok := strings.CutPrefix(name, w)
		if !ok {
			return false
		}
		name = rest
	}
	return name == ""
}

// mentioning returns the cards with a name that contains all of these words.
func mentioning(want []string) []entry {
	if len(want) == 0 {
		return nil
	}
	var out []entry
	for _, e := range catalog() {
		if slices.ContainsFunc(e.names, func(has []string) bool { return covers(has, want) }) {
			out = append(out, e)
		}
	}
	return out
}

// covers reports whether every wanted word is present; 80 matches 80gb.
func covers(has, want []string) bool {
	for _, w := range want {
		if !slices.Contains(has, w) && !slices.Contains(has, w+"gb") && !slices.Contains(has, w+"b") {
			return false
		}
	}
	return true
}

// plainest returns the one card whose name has no extra words: A100-40GB rather than A100-40GB-PCIe.
func plainest(some []entry) (Card, bool) {
	for _, e := range some {
		if !slices.ContainsFunc(some, func(o entry) bool { return !covers(o.names[0], e.names[0]) }) {
			return e.Card, true
		}
	}
	return Card{}, false
}

// nearest returns the cards whose names have the smallest edit distance. Cards with the same digits come first.
func nearest(want []string) []entry {
	joined := strings.Join(want, "")
	const longest = 40 // longer than any card's name
	if joined == "" || len(joined) > longest {
		return nil
	}
	var out []entry
	away := map[string]int{}
	for _, e := range catalog() {
		name := strings.Join(e.names[0], "")
		d := spelling.Distance(joined, name)
		if away[e.Name] = d; d <= len(joined)/3+1 && d < len(joined)-1 {
			out = append(out, e)
			if !spelling.SameDigits(joined, name) {
				away[e.Name] += len(joined)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b entry) int { return cmp.Compare(away[a.Name], away[b.Name]) })
	return out
}

// list returns at most n names: "A, B or C".
func list(some []entry, n int, last string) string {
	var names []string
	for _, e := range some {
		names = append(names, e.Name)
	}
	if len(names) > n {
		names = names[:n]
		if last == "and" {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(some)-n)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}
