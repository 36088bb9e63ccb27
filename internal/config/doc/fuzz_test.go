// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"testing"
)

// fuzzFormat opens anything, and where it opens, tries every edit on it: none
// may panic, none may touch a byte that is not of its value.
func fuzzFormat(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		d, err := OpenAs("file", format, data)
		if err != nil {
			return
		}
		if !bytes.Equal(d.Bytes(), data) {
			t.Fatal("opening has changed the bytes")
		}
		count := 0
		d.Walk(func(v Value) bool {
			if count++; count > 20 {
				return false
			}
			tryEdits(t, d, v)
			return true
		})
	})
}

func tryEdits(t *testing.T, d *Document, v Value) {
	for _, value := range []any{7, true, "word", "a: 'b' \"c\" #d", nil, 0.5} {
		edited, err := d.Set(v.Path, value)
		if err != nil {
			continue
		}
		found, err := d.Find(v.Path)
		if err != nil {
			t.Fatalf("%s was set but is not found: %v", v.Path, err)
		}
		before, after := d.Bytes(), edited.Bytes()
		tail := len(before) - found.End
		if len(after) < found.Start+tail || !bytes.Equal(before[:found.Start], after[:found.Start]) || !bytes.Equal(before[found.End:], after[len(after)-tail:]) {
			t.Fatalf("setting %s changed other bytes:\n%q\n%q", v.Path, before, after)
		}
		if now, err := edited.Find(v.Path); err != nil {
			t.Fatalf("%s is gone: %v", v.Path, err)
		} else if value == 7 && now.Data != int64(7) && now.Data != "7" {
			t.Fatalf("%s reads as %v after setting 7:\n%q\n%q", v.Path, now.Data, before, after)
		}
	}
	if edited, err := d.Insert(v.Path.Join("new", "key"), 7); err == nil {
		if now, err := edited.Find(v.Path.Join("new", "key")); err != nil || now.Data != int64(7) {
			t.Fatalf("new.key reads as %v (%v) after inserting 7:\n%q\n%q", now.Data, err, d.Bytes(), edited.Bytes())
		}
	}
}

func FuzzYAML(f *testing.F) {
	fuzzFormat(f, YAML, stages, "a: {b: [1, 'x'], \"c\": ~}\r\n", "? a\n: &x !!int 1\nb: *x\n", "- |\n  t\n- >+2\n   t\n\n", "a:\n- b: 1\n---\n", "? &x:1:")
}

func FuzzJSON(f *testing.F) {
	fuzzFormat(f, JSON, "{\"a\": [1, 2.5, null,], // x\n \"b\": {\"c\": \"auto\"}}", "\ufeff[]")
}

func FuzzTOML(f *testing.F) {
	fuzzFormat(f, TOML, titan, "a.b.c = 1\r\n[a.d]\r\n", "\na.b.c=1", "[[x]]\n[x.y]\nz = [{a=1},[]]\n")
}

func FuzzPython(f *testing.F) {
	fuzzFormat(f, Python, nano, "a = {'b': (1,), **c}\nd = f\"x\"\n", "a=b=1\n")
}

func FuzzShell(f *testing.F) {
	fuzzFormat(f, Shell, script, "a=`b` c=$(d \"e\" (f)) g --h=$i\n", "x=${y:-3}\n")
}
