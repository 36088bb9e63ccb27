// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParse compares trees with their dump, in which name@1:3 means line 1, column 3.
func TestParse(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"x = 1", "(assign@1:1 [ (name@1:1 x)] (num@1:5 1))"},
		{"x = y = 0x_ff", "(assign@1:1 [ (name@1:1 x) (name@1:5 y)] (num@1:9 255))"},
		{"é += 1e3", "(aug@1:1 + (name@1:1 é) (num@1:7 1000))"},
		{"x: int", "(ann@1:1 (name@1:1 x) (name@1:4 int) -)"},
		{"a, *b = c", "(assign@1:1 [ (tuple@1:1 (name@1:1 a) (star@1:4 (name@1:5 b)))] (name@1:9 c))"},
		{"-a ** b", "(expr@1:1 (unary@1:1 - (binary@1:2 ** (name@1:2 a) (name@1:7 b))))"},
		{"a - b - c", "(expr@1:1 (binary@1:1 - (binary@1:1 - (name@1:1 a) (name@1:5 b)) (name@1:9 c)))"},
		{"(a).b", "(expr@1:1 (attr@1:1 b (name@1:2 a)))"},
		{"not a in b is not c", "(expr@1:1 (unary@1:1 not (compare@1:5 in,is not (name@1:5 a) (name@1:10 b) (name@1:19 c))))"},
		{"a or b or c", "(expr@1:1 (bool@1:1 or (name@1:1 a) (name@1:6 b) (name@1:11 c)))"},
		{"a if b else c", "(expr@1:1 (cond@1:1 (name@1:6 b) (name@1:1 a) (name@1:13 c)))"},
		{"f(a, *b, c=d, **e)", "(expr@1:1 (call@1:1 (name@1:1 f) [ (name@1:3 a) *(name@1:7 b) c=(name@1:12 d) **=(name@1:17 e)]))"},
		{"f(x for x in y)", "(expr@1:1 (call@1:1 (name@1:1 f) [ (comp@1:2 generator (name@1:3 x) - (name@1:9 x) (name@1:14 y) [])]))"},
		{"a[1:, ...]", "(expr@1:1 (index@1:1 (name@1:1 a) (tuple@1:3 (slice@1:3 (num@1:3 1) - -) (const@1:7 ...))))"},
		{"{**a, 'b': c}", `(expr@1:1 (dict@1:1 [ - (str@1:7 "b")] [ (name@1:4 a) (name@1:12 c)]))`},
		{"lambda a, /, b=1, *, c: a", "(expr@1:1 (lambda@1:1 < a / b=(num@1:16 1) * c!> (name@1:25 a)))"},
		{"if (n := f()): pass", "(if@1:1 (walrus@1:5 n (call@1:10 (name@1:10 f) [])) { (pass@1:16)} {})"},
		{"x = yield from y", "(assign@1:1 [ (name@1:1 x)] (yield@1:5 true (name@1:16 y)))"},
		{"from ...a import (b as c, d,)", "(from@1:1 a 3 b>c d>)"},
		{"with (a as b, c): pass", "(with@1:1 (name@1:7 a) (name@1:12 b) (name@1:15 c) - { (pass@1:19)})"},
		{"with (a, b) as c: pass", "(with@1:1 (tuple@1:6 (name@1:7 a) (name@1:10 b)) (name@1:16 c) { (pass@1:19)})"},
		{"match = 1", "(assign@1:1 [ (name@1:1 match)] (num@1:9 1))"},
		{"match(x)[case]", "(expr@1:1 (index@1:1 (call@1:1 (name@1:1 match) [ (name@1:7 x)]) (name@1:10 case)))"},
		{"type(x)", "(expr@1:1 (call@1:1 (name@1:1 type) [ (name@1:6 x)]))"},
		{"type X[T: int = str, *Ts, **P] = list[T]", "(type@1:1 X (index@1:34 (name@1:34 list) (name@1:39 T)))"},
		{"async def f[T](x: T, *a: *Ts) -> T: await x", "(def@1:1 f < x:(name@1:19 T) *a:(star@1:26 (name@1:27 Ts))> [] { (expr@1:37 (await@1:37 (name@1:43 x)))})"},
		{"class A[T](B, m=C): ...", "(class@1:1 A [ (name@1:12 B) m=(name@1:17 C)] [] { (expr@1:21 (const@1:21 ...))})"},
		{"print >>f, 1", "(expr@1:1 (tuple@1:1 (binary@1:1 >> (name@1:1 print) (name@1:9 f)) (num@1:12 1)))"},
		{"1if x else 2", "(expr@1:1 (cond@1:1 (name@1:5 x) (num@1:1 1) (num@1:12 2)))"},
		{"\ufeffx", "(expr@1:1 (name@1:1 x))"},
		{"0xFFFFFFFFFFFFFFFFF", "(expr@1:1 (num@1:1 2.9514790517935283e+20))"},
		{"x = 3j; y = 1_0.5", "(assign@1:1 [ (name@1:1 x)] (num@1:5 3))\n(assign@1:9 [ (name@1:9 y)] (num@1:13 10.5))"},
		{"", ""},
		{"# only a comment", ""},
	} {
		f, err := Parse("x.py", []byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if diff := cmp.Diff(c.want, strings.TrimSuffix(dump(f), "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.src, diff)
		}
	}
}

func TestBlocks(t *testing.T) {
	src := strings.Join([]string{
		"@d",
		"def f():",
		"\tif a:",
		"\t\tb",
		"",
		"\telif c: \\",
		"  d; e",
		"# a comment that closes no block",
		"\telse:",
		"\t\ttry: g",
		"\t\texcept* E as x: (h,",
		"  i)",
		"\t\tfinally: j",
		"match k, l:",
		"    case 1 | 2: m",
		"    case 'a' if n: o",
		"    case A.b | {'c': [*_], **d} | E(f, g=-1+2j): p",
		"    case _: q",
	}, "\r\n")
	want := []string{
		"(def@2:1 f <> [ (name@1:2 d)] { (if@3:2 (name@3:5 a) { (expr@4:3 (name@4:3 b))} " +
			"{ (if@6:2 (name@6:7 c) { (expr@7:3 (name@7:3 d)) (expr@7:6 (name@7:6 e))} " +
			"{ (try@10:3 { (expr@10:8 (name@10:8 g))} except x (name@11:11 E) " +
			"{ (expr@11:19 (tuple@11:19 (name@11:20 h) (name@12:3 i)))} {} { (expr@13:12 (name@13:12 j))})})})})",
		"(match@14:1 (tuple@14:7 (name@14:7 k) (name@14:10 l)) case false - - { (expr@15:17 (name@15:17 m))} " +
			`case false (str@16:10 "a") (name@16:17 n) { (expr@16:20 (name@16:20 o))} ` +
			"case false - - { (expr@17:50 (name@17:50 p))} case true - - { (expr@18:13 (name@18:13 q))})",
	}
	f, err := Parse("x.py", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(dump(f)), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStrings(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string // the texts of its parts, "{}" for a field
	}{
		{`'a' "b" '''c'''`, []string{"abc"}},
		{`'\n\x41\101\u00e9\U0001F600\q\'' r'\n'`, []string{"\nAAé😀\\q'\\n"}},
		{"'''a\r\nb\\\r\nc'''", []string{"a\nbc"}},
		{`b'\xff\u'`, []string{"\xff\\u"}},
		{`'\ud800'`, []string{"\ufffd"}},
		{`'\N{DASH}'`, []string{`\N{DASH}`}},
		{`f''`, nil},
		{`f'a{b}c' 'd'`, []string{"a", "{}", "cd"}},
		{`t'a{b}' rt"\c"`, []string{"a", "{}", `\c`}},
		{`f'{{{a}}}'`, []string{"{", "{}", "}"}},
		{`f'{a!r:>{w}.{p}}|'`, []string{"{}", "|"}},
		{`f'{a:=^5}{b!=c}{d:{{e}}}'`, []string{"{}", "{}", "{}"}},
		{`f'{a = !s}'`, []string{"a = ", "{}"}},
		{"f'''{\na = # why\n}'''", []string{"\na = \n", "{}"}},
		{`f'{d['k']} {f"{'x'}"}'`, []string{"{}", " ", "{}"}},
		{`rf'\{a}\N{b}'`, []string{`\`, "{}", `\N`, "{}"}},
		{`f'\N{DASH}{a}'`, []string{`\N{DASH}`, "{}"}},
		{`f'{ {1: 2}[1] }{(lambda x: x)(1)}{*a, b}'`, []string{"{}", "{}", "{}"}},
	} {
		f, err := Parse("x.py", []byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if diff := cmp.Diff(c.want, texts(f.Body[0].(*ExprStmt).X)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.src, diff)
		}
	}
}

// texts returns the literal parts of a string, with "{}" for the fields.
func texts(x Expr) []string {
	switch x := x.(type) {
	case *Str:
		return []string{x.Value}
	case *FString:
		var list []string
		for _, part := range x.Parts {
			if s, is := part.(*Str); is {
				list = append(list, s.Value)
			} else {
				list = append(list, "{}")
			}
		}
		return list
	}
	return nil
}

// Python 3.14 allows several exceptions without parentheses.
func TestExceptionsWithoutParentheses(t *testing.T) {
	f, err := Parse("x.py", []byte("try: a\nexcept B, C.d: e\nexcept F,: g\n"))
	if err != nil {
		t.Fatal(err)
	}
	handlers := f.Body[0].(*Try).Handlers
	for i, want := range []int{2, 1} {
		if got := len(handlers[i].Type.(*Tuple).Elts); got != want {
			t.Errorf("handler %d has %d exceptions, want %d", i, got, want)
		}
	}
}
