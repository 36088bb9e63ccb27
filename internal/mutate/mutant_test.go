// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

const example = `package p

func f(a, b int) int {
	if a < b && b != 3 {
		a++
		use(a)
		b = a
	}
	c := a + 1
	return c
}
`

// TestMutants checks that each kind of mistake is made once where possible, and that files still parse.
func TestMutants(t *testing.T) {
	found, err := mutantsOf("p.go", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, m := range found {
		changed := string(m.apply([]byte(example)))
		if changed == example {
			t.Errorf("%q changes nothing", m.what)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", changed, 0); err != nil {
			t.Errorf("%q: %v", m.what, err)
		}
		for i, l := range strings.Split(changed, "\n") {
			if old := strings.Split(example, "\n")[i]; l != old {
				lines[strings.TrimSpace(l)] = m.line
			}
		}
	}
	want := map[string]int{
		"if a <= b && b != 3 {": 4, "if a < b || b != 3 {": 4, "if a < b && b == 3 {": 4, "if a < b && b != 4 {": 4,
		"if !(a < b && b != 3) {": 4, "c := a - 1": 9, "c := a + 2": 9,
	}
	for l, at := range want {
		if lines[l] != at {
			t.Errorf("no mutant has %q on line %d", l, at)
		}
	}
	if got := len(found); got != len(want)+3 { // and three omitted statements
		t.Errorf("%d mutants, want %d", got, len(want)+3)
	}
}

// A mistake that this package's own test notices is killed, one that no test notices survives, and one that does
// not compile is stillborn.
func TestVerdicts(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles programs")
	}
	t.Chdir("../..")
	j := judge{tests: []string{"./internal/units"}, timeout: 60e9}
	found, err := inFolder("internal/units", "")
	if err != nil || len(found) < 20 {
		t.Fatal(len(found), err)
	}
	broken := found[0]
	broken.text = "this is no Go"
	same := found[0]
	same.start, same.end, same.text = 0, 0, "\n"
	wrong := found[0]
	wrong.start, wrong.end, wrong.text = 0, 0, ""
	for _, m := range found {
		if strings.Contains(m.what, "<") {
			wrong = m
			wrong.text = "==" // a mistake that the tests notice
		}
	}
	for want, m := range map[verdict]mutant{stillborn: broken, survived: same, killed: wrong} {
		if got, err := j.try(m); err != nil || got != want {
			t.Errorf("%s:%d %s: verdict %d (%v), want %d", m.file, m.line, m.what, got, err, want)
		}
	}
}
