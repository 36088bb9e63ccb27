// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The property: in a random document with comments, odd spacing, anchors and every style of value, a random
// edit changes its value, keeps the bytes around it, and leaves every other value as it was.

// writer writes a random document of one format.
type writer struct {
	t  *rapid.T
	b  strings.Builder
	nl string
	n  int // names so far, to keep them unique
}

func (w *writer) name() string {
	w.n++
	return rapid.SampledFrom([]string{"batch", "lr", "größe", "n-x", "a_b"}).Draw(w.t, "name") + fmt.Sprint(w.n)
}

func (w *writer) word() string {
	w.n++
	return rapid.SampledFrom([]string{"a", "Config", "x_y"}).Draw(w.t, "word") + fmt.Sprint(w.n)
}

func (w *writer) pick(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(w.t, label)
}

func (w *writer) line(text string) { w.b.WriteString(text + w.nl) }

func (w *writer) comment(mark string) string {
	return w.pick("comment", "", "", "  "+mark+" keep: this 'and' \"that\"", " "+mark+mark)
}

// document draws the text of a document.
func document(t *rapid.T, format Format) string {
	w := &writer{t: t, nl: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")}
	size := rapid.IntRange(1, 6).Draw(t, "size")
	switch format {
	case YAML:
		w.yamlMap("", size, 2)
	case JSON:
		w.b.WriteString(w.jsonMap("", size, 2) + w.nl)
	case TOML:
		w.toml(size)
	case Python:
		w.python(size)
	case Shell:
		w.shell(size)
	}
	text := w.b.String()
	if rapid.Bool().Draw(t, "no final newline") {
		text = strings.TrimRight(text, "\r\n")
	}
	if rapid.IntRange(0, 5).Draw(t, "mark") == 0 && format != Shell {
		text = bom + text
	}
	return text
}

func (w *writer) yamlMap(indent string, size, depth int) {
	for range size {
		if rapid.IntRange(0, 4).Draw(w.t, "between") == 0 {
			w.line(w.pick("noise", "", indent+"# about the next", "   "))
		}
		key := indent + w.name() + ":"
		switch kind := rapid.IntRange(0, 6).Draw(w.t, "kind"); {
		case kind == 0 && depth > 0:
			w.line(key + w.pick("anchor", "", fmt.Sprintf(" &m%d", w.n)) + w.comment("#"))
			w.yamlMap(indent+w.pick("unit", "  ", "    ", " "), rapid.IntRange(1, 3).Draw(w.t, "inner"), depth-1)
		case kind == 1:
			w.line(key + w.pick("flow", " {x: 1, 'y': [2, \"3\"], z: {}}", " [ 1 , 2,3 ]", " []") + w.comment("#"))
		case kind == 2:
			w.line(key + w.pick("block", " |", " >-"))
			w.line(indent + "  text: 1")
			w.line(indent + "  # no comment")
		case kind == 3:
			w.line(key + w.pick("list", ""))
			w.line(indent + "- " + w.yamlScalar())
			w.line(indent + "- k: " + w.yamlScalar() + w.comment("#"))
			w.line(indent + "  l: " + w.yamlScalar())
		default:
			w.line(key + w.pick("gap", " ", "   ") + w.pick("property", "", "", fmt.Sprintf("&a%d ", w.n), "!!str ") + w.yamlScalar() + w.comment("#"))
		}
	}
}

func (w *writer) yamlScalar() string {
	return w.pick("scalar", "8", "-3", "1.5e-3", "true", "No", "null", "~", "word", "a b: c"[:3], "'it''s'", `"x\ty"`, `"12"`, "'8'", "2026-01-01", "ünï", "a#b")
}

func (w *writer) jsonMap(indent string, size, depth int) string {
	var b strings.Builder
	b.WriteString("{" + w.nl)
	for i := range size {
		b.WriteString(indent + "  \"" + w.name() + "\"" + w.pick("colon", ":", ": ", " : "))
		if depth > 0 && rapid.IntRange(0, 3).Draw(w.t, "kind") == 0 {
			b.WriteString(w.jsonMap(indent+"  ", rapid.IntRange(1, 3).Draw(w.t, "inner"), depth-1))
		} else {
			b.WriteString(w.pick("value", "1", "-2.5e3", "true", "null", `"auto"`, `"8"`, `"a\"b"`, "[1, [2], {}]", "{}"))
		}
		if i < size-1 {
			b.WriteString(",")
		} else {
			b.WriteString(w.pick("last", "", ","))
		}
		b.WriteString(w.pick("comment", "", " // keep, this", " /* and } this */") + w.nl)
	}
	b.WriteString(indent + "}")
	return b.String()
}

func (w *writer) toml(size int) {
	for range size {
		if rapid.IntRange(0, 3).Draw(w.t, "kind") == 0 {
			w.line(w.pick("header", fmt.Sprintf("[t%d]", w.n), fmt.Sprintf("[[l%d]]", w.n), fmt.Sprintf("[t%d.'sub.key']", w.n)) + w.comment("#"))
			w.n++
		}
		key := strings.ReplaceAll(w.name(), "größe", "q") + w.pick("dot", "", "", ".sub", ".sub.deep")
		w.line(w.pick("indent", "", "  ") + key + w.pick("gap", " = ", "=") + w.pick("value", "8", "1_000", "0.5", "true", "'lit'", `"a\tb"`, `"8"`, "[1, [2,], ]", "{ a = 1, b.c = 'x' }", "2026-01-01", "'''x'''") + w.comment("#"))
	}
}

func (w *writer) python(size int) {
	for range size {
		switch rapid.IntRange(0, 5).Draw(w.t, "kind") {
		case 0:
			w.line(w.word() + " = dict(a=1," + w.comment("#"))
			w.line("   b='x', c={\"k\": 2, 'l': [1, 2]}," + w.comment("#"))
			w.line(")")
		case 1:
			w.line("class " + w.word() + ":" + w.comment("#"))
			w.line("    " + w.word() + ": int = 8" + w.comment("#"))
			w.line("    def f(self): return 'x = 1'")
		case 2:
			w.line(w.pick("noise", "import os", "print('a = 1')", "# a = 1", `"""`+w.nl+"a = 1"+w.nl+`"""`, "for i in x: y = 1"))
		default:
			w.line(w.word() + w.pick("type", "", ": float") + w.pick("gap", " = ", "=") + w.pick("value", "8", "5 * 8", "-1", "1e-3", "True", "None", "'a'", `"8"`, "f(1)", "[1, 2]", "x if y else z", "r'a'") + w.comment("#"))
		}
	}
}

func (w *writer) shell(size int) {
	w.line("#!/bin/bash")
	for range size {
		w.line(w.pick("export", "", "export ") + "V" + fmt.Sprint(w.n) + "=" + w.pick("value", "8", "'8'", `"a b"`, "${X:-4}", "$(date)", "a$b") + w.pick("comment", "", "  # keep '"))
		w.n++
	}
	w.b.WriteString("python train.py")
	for range size {
		w.n++
		w.b.WriteString(w.pick("gap", " ", " \\"+w.nl+"  ") + fmt.Sprintf("--f-%d", w.n) + w.pick("equals", " ", "=") + w.pick("argument", "8", "'x y'", `"1e-3"`, "true", "$V0", "-2", "a.b"))
	}
	w.line("")
	w.line("cat <<END" + w.nl + "--f-0 1" + w.nl + "END")
}

// readings returns every scalar value of a document by its path. Aliases are omitted because they change with
// their targets.
func readings(d *Document) map[string]string {
	all := map[string]string{}
	d.Walk(func(v Value) bool {
		if v.Kind != Map && v.Kind != List && v.Via == nil {
			all[v.Path.String()] = fmt.Sprintf("%s %v %s", v.Kind, v.Data, v.Text)
		}
		return true
	})
	return all
}

func TestEditsChangeNothingElse(t *testing.T) {
	for _, format := range []Format{YAML, JSON, TOML, Python, Shell} {
		t.Run(string(format), func(t *testing.T) {
			edits := 0
			rapid.Check(t, func(t *rapid.T) {
				text := document(t, format)
				d, err := OpenAs("file", format, []byte(text))
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				edits += randomEdits(t, d)
			})
			if edits == 0 {
				t.Error("no edit was made")
			}
			t.Logf("%d edits", edits)
		})
	}
}

// randomEdits makes a few edits, each on the result of the previous one.
func randomEdits(t *rapid.T, d *Document) int {
	made := 0
	for n := range 3 {
		before := readings(d)
		paths := slices.Sorted(maps.Keys(before))
		if len(paths) == 0 {
			return made
		}
		path := rapid.SampledFrom(paths).Draw(t, "path")
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		value := rapid.SampledFrom([]any{64, 0.25, true, false, "bf16-mixed", "no", "x y", nil}).Draw(t, "value")
		var edited *Document
		insert := rapid.IntRange(0, 3).Draw(t, "insert") == 0
		if insert {
			p = append(p[:len(p)-1:len(p)-1], fmt.Sprintf("brand_new%d", n))
			path = p.String()
			edited, err = d.Insert(p, value)
		} else {
			edited, err = d.Set(p, value)
		}
		if err != nil {
			continue
		}
		made++
		after := readings(edited)
		if _, ok := after[path]; !ok {
			t.Fatalf("%s is gone:\n%s\n%s", path, d.Bytes(), edited.Bytes())
		}
		delete(before, path)
		delete(after, path)
		if !maps.Equal(before, after) {
			t.Fatalf("setting %s to %v changed others:\n%s\n---\n%s", path, value, d.Bytes(), edited.Bytes())
		}
		if insert {
			linesStay(t, d, edited)
		}
		d = edited
	}
	return made
}

// linesStay checks that an insertion only adds lines: without them, the text is the old one.
func linesStay(t *rapid.T, before, after *Document) {
	old, now := string(before.Bytes()), string(after.Bytes())
	i := 0
	for j := 0; j < len(now) && i < len(old); j++ {
		if now[j] == old[i] {
			i++
		}
	}
	if i < len(old) {
		t.Fatalf("inserting removed something:\n%s\n---\n%s", old, now)
	}
}
