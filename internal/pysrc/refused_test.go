// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x = (1,\n", "x.py:1:5: '(' is never closed"},
		{"x = 1)", "x.py:1:6: ')' is unmatched"},
		{"x = (1]", "x.py:1:7: ']' does not match '(' on line 1"},
		{"if x\n  y", "x.py:1:5: expected ':', found the end of the line"},
		{"if x:\ny", "x.py:2:1: expected an indented block after line 1"},
		{"  x", "x.py:1:3: this line is indented, but no block begins before it"},
		{"if x:\n    y\n  z", "x.py:3:3: this line's indentation matches none of the blocks around it"},
		{"if x:\n        y\n\tz", "x.py:3:2: tabs and spaces are mixed in the indentation"},
		{"print 'x'", "x.py:1:1: 'print' without parentheses is Python 2; this file must be Python 3"},
		{"exec code", "x.py:1:1: 'exec' without parentheses is Python 2; this file must be Python 3"},
		{"try: x\nexcept A, B as b: y", "x.py:2:13: several exceptions with a name need parentheses"},
		{"raise A, 'b'", "x.py:1:8: 'raise E, text' is Python 2; this file must be Python 3"},
		{"x = `y`", "x.py:1:5: backquotes are Python 2; this file must be Python 3"},
		{"x = 0777", "x.py:1:5: '0777' begins with a zero: octal numbers are written 0o17"},
		{"x = 1a", "x.py:1:5: '1a' is not a number"},
		{"x y", "x.py:1:3: expected the end of the line, found 'y'"},
		{"x = ", "x.py:1:5: expected an expression, found the end of the line"},
		{"f() = 1", "x.py:1:1: cannot assign to this; did you mean '=='?"},
		{"a, b += 1", "x.py:1:1: expected a single name, attribute or item before '+='"},
		{"del f()", "x.py:1:5: cannot delete this"},
		{"f(a=1, b)", "x.py:1:8: a positional argument follows a keyword argument"},
		{"f(**a, b)", "x.py:1:8: a positional argument follows '**'"},
		{"f(a, x for x in y)", "x.py:1:18: a generator next to other arguments needs parentheses"},
		{"def f(a=1, b): x", "x.py:1:12: a parameter without a default follows one with a default"},
		{"def f(*): x", "x.py:1:8: expected a name, found ')'"},
		{"def f(*, **k): x", "x.py:1:10: a name must follow the bare '*'"},
		{"def f(**k, a): x", "x.py:1:12: nothing may follow '**' parameters"},
		{"(*a)", "x.py:1:2: '*' is not allowed here"},
		{"try: x", "x.py:1:7: expected 'except' or 'finally' after the try's block, found the end of the file"},
		{"'abc\n'", "x.py:1:1: this string does not end on its line"},
		{"x\n'''abc", "x.py:2:1: this string does not end"},
		{`'\x4'`, `x.py:1:1: \x needs 2 hexadecimal digits`},
		{`'\U00110000'`, `x.py:1:1: \U00110000 is not a character`},
		{"b'é'", "x.py:1:1: bytes may contain only ASCII characters"},
		{"'a' b'b'", "x.py:1:5: bytes and text cannot be joined"},
		{"f'{a'", "x.py:1:5: this string does not end"},
		{"f'}'", "x.py:1:3: a single '}' in an f-string: write '}}'"},
		{"f'{}'", "x.py:1:4: a field of an f-string is empty"},
		{"f'{a!x}'", "x.py:1:3: '!x' is not a conversion; use '!s', '!r' or '!a'"},
		{`f'\N{a'`, `x.py:1:3: \N{ has no '}'`},
		{"f'{a:3'", "x.py:1:7: the format in this f-string has no '}'"},
		{"x\\", "x.py:1:2: a backslash must be the last character of its line"},
		{"x = $", "x.py:1:5: the character '$' has no meaning here"},
		{"x = “y”", "x.py:1:5: the character '“' (U+201C) has no meaning here"},
		{"x\x00", "x.py:1:2: the file contains a zero byte, so it is not Python source"},
		{"x\n\xff", "x.py:2:1: the file is not UTF-8"},
		{"match x:\n  case 1: y\n  z", "x.py:3:3: expected 'case', found 'z'"},
		{"match x:\n  case {a: 1}: y", "x.py:2:9: a key in a pattern must be a literal or a dotted name"},
		{"match x:\n  case 1 as _: y", "x.py:2:13: '_' cannot be bound"},
		{"match *x:\n  case 1: y", "x.py:1:1: expected a single name, attribute or item before ':'"},
		{"@a\nx", "x.py:2:1: expected a function or a class after a decorator, found 'x'"},
		{"print 'first'\nx = `y`", "x.py:1:1: 'print' without parentheses is Python 2; this file must be Python 3"},
		{strings.Repeat("x", 60) + " 1", "x.py:1:62: expected the end of the line, found '1'"},
	} {
		_, err := Parse("x.py", []byte(c.src))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\ngot  %v\nwant %s", c.src, err, c.want)
		}
	}
}

// TestBounds checks that endless nesting of any kind is refused before the stack grows.
func TestBounds(t *testing.T) {
	const n = 100_000
	blocks := ""
	for i := range maxIndents + 1 {
		blocks += strings.Repeat(" ", i) + "if x:\n"
	}
	for name, src := range map[string]string{
		"parentheses":  strings.Repeat("(", n) + strings.Repeat(")", n),
		"brackets":     "x" + strings.Repeat("[x", n) + strings.Repeat("]", n),
		"braces":       strings.Repeat("{", n),
		"minus":        strings.Repeat("-", n) + "x",
		"not":          strings.Repeat("not ", n) + "x",
		"powers":       "x" + strings.Repeat("**x", n),
		"lambdas":      strings.Repeat("lambda:", n) + "x",
		"conditionals": "x" + strings.Repeat(" if x else x", n),
		"sums":         "x" + strings.Repeat("+x", n),
		"calls":        "x" + strings.Repeat("()", n),
		"attributes":   "x" + strings.Repeat(".x", n),
		"elifs":        "if x: x\n" + strings.Repeat("elif x: x\n", n),
		"f-strings":    strings.Repeat("f'{", n),
		"formats":      "f'" + strings.Repeat("{x:", n),
		"patterns":     "match x:\n case " + strings.Repeat("[", n),
		"blocks":       blocks + strings.Repeat(" ", maxIndents+1) + "x",
	} {
		_, err := Parse("x.py", []byte(src))
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWide checks that a long source without deep nesting is accepted.
func TestWide(t *testing.T) {
	const n = 50_000
	for name, src := range map[string]string{
		"lines":      strings.Repeat("x\n", n),
		"statements": strings.Repeat("x;", n),
		"elements":   "x = [" + strings.Repeat("x,", n) + "]",
		"arguments":  "f(" + strings.Repeat("*x,", n) + ")",
		"booleans":   "x" + strings.Repeat(" or x", n),
		"comparison": "x" + strings.Repeat(" < x", n),
		"strings":    strings.Repeat("'x' ", n),
		"fields":     "f'" + strings.Repeat("{x=}", n) + "'",
		"targets":    strings.Repeat("x = ", n) + "x",
		"matches":    strings.Repeat("match (x)\n", n),
		"comments":   strings.Repeat("#\n", n),
		"joined":     "x = " + strings.Repeat("\\\n", n) + "x",
	} {
		if _, err := Parse("x.py", []byte(src)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
