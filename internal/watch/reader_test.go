// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"
	"testing"
)

// TestWrongLines checks what is said about lines that cannot be read.
func TestWrongLines(t *testing.T) {
	for text, want := range map[string]string{
		`{"t":0,"kind":"step","step":1,"allocated":1e300}`:         `line 1: "allocated" cannot be a number 1e300`,
		`{"t":0,"kind":"step","step":1,"shape":"8x512"}`:           `line 1: "shape" cannot be a string`,
		`{"t":0,"kind":"step","step":1,"allocated":-5}`:            `line 1: "allocated" is -5, which is not a memory size`,
		`{"t":0,"kind":"step","allocated":5}`:                      `line 1: "step" is missing`,
		`{"t":0,"kind":"start","x":"` + strings.Repeat("a", 2<<20): `line 1 is longer than 1048576 bytes`,
	} {
		r, err := NewReader(strings.NewReader(text + "\n" + `{"t":1,"kind":"end"}` + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %s", text, err, want)
		}
	}
}

// TestLastAdvice checks that the advice at the end belongs to the state that the last line names.
func TestLastAdvice(t *testing.T) {
	w := New(Options{})
	for _, e := range recording(t, "watched_two_b") {
		w.Add(e)
	}
	if r := w.Now(); !strings.Contains(r.Why, "before that: other-process") || !strings.HasPrefix(r.Advice, "see what process") {
		t.Errorf("got %+v", r)
	}
}
