// SPDX-License-Identifier: Apache-2.0

package shellsrc

import (
	"maps"
	"slices"
	"testing"
)

// FuzzRead reads arbitrary text: nothing may panic or run forever, and each piece must be at its recorded offset.
func FuzzRead(f *testing.F) {
	for _, of := range []map[string]string{exactScripts, vagueScripts} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			f.Add(of[name])
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		script, err := Read(text, func(string) (string, bool) { return "A=1\ntrain --sourced $A\n", true })
		if err != nil {
			return
		}
		if words := countWords(script); words > 1000+100*len(text) {
			t.Fatalf("%d bytes were parsed as %d words", len(text), words)
		}
		for _, c := range script.Commands {
			for _, w := range c.Words {
				checkPlaces(t, text, w)
			}
		}
		for _, d := range script.Definitions {
			for _, w := range slices.Concat(d.Values, d.List) {
				checkPlaces(t, text, w)
			}
		}
	})
}

func countWords(s *Script) int {
	n := 0
	for _, c := range s.Commands {
		n += len(c.Words)
	}
	return n
}

// checkPlaces checks that a word's known pieces are at their recorded offsets.
func checkPlaces(t *testing.T, text string, w Word) {
	for _, p := range w.Pieces {
		if p.Why == "" && p.At >= 0 && (p.At+len(p.Text) > len(text) || text[p.At:p.At+len(p.Text)] != p.Text) {
			t.Fatalf("%q is not at offset %d", p.Text, p.At)
		}
	}
	if w.Start >= 0 && (w.End < w.Start || w.End > len(text)) {
		t.Fatalf("%q is at offsets %d to %d", w.Raw, w.Start, w.End)
	}
}
