// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// editCase is one edit: a file before and after it.
type editCase struct {
	name   string
	before string
	path   string
	value  any
	insert bool
	after  string
	err    error  // expected instead of after
	says   string // part of the error's text
}

func testEdits(t *testing.T, file string, cases []editCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d, err := Open(file, []byte(c.before))
			if err != nil {
				t.Fatal(err)
			}
			p, err := ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			edit := d.Set
			if c.insert {
				edit = d.Insert
			}
			edited, err := edit(p, c.value)
			if c.err != nil || c.says != "" {
				if err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
					t.Fatalf("error is %v, want %v (%s)", err, c.err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(edited.Bytes())); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if string(d.Bytes()) != c.before {
				t.Error("the document that was edited has changed")
			}
		})
	}
}

func TestPath(t *testing.T) {
	for text, want := range map[string]Path{
		"batch_size":          {"batch_size"},
		"data.batch_size":     {"data", "batch_size"},
		"stages[0].lr":        {"stages", "0", "lr"},
		"stages.0.lr":         {"stages", "0", "lr"},
		`model."layer.0".dim`: {"model", "layer.0", "dim"},
		"--a.b":               {"--a.b"},
		"--batch-size#2":      {"--batch-size#2"},
	} {
		got, err := ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
		if again, err := ParsePath(got.String()); err != nil || !again.Equal(got) {
			t.Errorf("%s is written as %s, which reads as %v (%v)", text, got, again, err)
		}
	}
	for _, text := range []string{"", "a..b", "a[x]", "a[1", `"a`, `a"b"`, "a[0]b", "."} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("%q reads as %v, want an error", text, p)
		}
	}
}

func TestErrorsHaveAPlace(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.yaml", "a: 1\nb: [1, 2\nc: 3\n", "a.yaml:2:5: did not find expected ',' or ']'"},
		{"a.yaml", "a: 1\nb: {c: 1, d\n", "a.yaml:2:11: did not find expected ',' or '}'"},
		{"a.yaml", "a: 1\n\tb: 2\n", "a.yaml:2:1: found a tab character"},
		{"a.yaml", "a: 1\n  b: 2\nc: 3\n", "a.yaml:2:4: mapping values are not allowed"},
		{"a.yaml", "a: 1\r\nb: c: d\r\ne: 2\r\n", "a.yaml:2:5: mapping values are not allowed"},
		{"a.yaml", "ä: ö\nö: \"ä\nc: 3\n", "a.yaml:2:5: found unexpected end of stream"},
		{"a.yaml", "a: 1\n- b\nc: 2\n", "a.yaml:2:1: did not find expected key"},
		{"a.yaml", "a: &x 1\nb: *nope\nc: *x\n", "a.yaml:2:4: unknown anchor 'nope'"},
		{"a.yaml", "a: 1\n---\nb: @c\n", "a.yaml:3:4: found character that cannot start any token"},
		{"a.yaml", "a: 1\nb: \xff\n", "a.yaml:2:4: the file is not UTF-8 text"},
		{"a.json", "{\n  \"a\": 1,\n  b: 2\n}", "a.json:3:3: "},
		{"a.json", "\ufeff{\"a\": }", "a.json:1:7: "},
		{"a.toml", "[a]\nb = 1\nc = \n", "a.toml:3:"},
		{"a.toml", "a = 1\na = 2\n", "a.toml:2:1: "},
		{"a.py", "a = 1\nb = (1,\n", "a.py:2:5: "},
		{"a.sh", "a=1\n\nb='x\n", "a.sh:3:3: "},
		{"a.ini", "a=1", "a.ini: not a kind of file"},
	} {
		_, err := Open(c.file, []byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error is %v, want one that begins with %s", c.text, err, c.want)
		}
	}
}

// replaceOnce replaces a part that must occur exactly once in a text.
func replaceOnce(t *testing.T, text, old, now string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q occurs %d times", old, strings.Count(text, old))
	}
	return strings.Replace(text, old, now, 1)
}
