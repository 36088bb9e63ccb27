// SPDX-License-Identifier: Apache-2.0

package doc

import (
	"bytes"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"
	"time"
)

// fuzzFormat opens any input and, if that works, tries edits on it: none may panic or change a byte outside
// its value.
func fuzzFormat(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		d := openWithin(t, format, data)
		if d == nil {
			return
		}
		if !bytes.Equal(d.Bytes(), data) {
			t.Fatal("opening has changed the bytes")
		}
		tryEdits(t, d, data)
	})
}

// openWithin opens a file and checks that this takes no more memory than its size allows. It returns nil if
// the file cannot be opened.
func openWithin(t *testing.T, format Format, data []byte) *Document {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	d, err := OpenAs("file", format, data)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	if bytes, most := after.TotalAlloc-before.TotalAlloc, maxBytes(len(data)); bytes > most {
		t.Fatalf("%d bytes of text took %d bytes, more than %d", len(data), bytes, most)
	}
	if took > 2*time.Second {
		t.Fatalf("%d bytes of text took %v", len(data), took)
	}
	if err != nil {
		return nil
	}
	return d
}

// edits lists the edits that are tried on a value.
var edits = []any{7, true, "word", "a: 'b' \"c\" #d", nil, 0.5, inserted{}}

// inserted is a new key rather than a new value.
type inserted struct{}

// maxRead limits how many bytes are parsed again, because each edit parses the whole file. Small files get
// every edit on every value, large files only a few, selected by a checksum of the content.
const maxRead = 16 << 10

func tryEdits(t *testing.T, d *Document, data []byte) {
	var values []Value
	d.Walk(func(v Value) bool { values = append(values, v); return true })
	all := len(values) * len(edits)
	first := int(crc32.ChecksumIEEE(data)) % all
	tries := min(all, max(2, maxRead/(len(data)+64)))
	for i := range tries {
		n := (first + i) % all
		v, value := values[n/len(edits)], edits[n%len(edits)]
		if value == (inserted{}) {
			tryInsert(t, d, v)
		} else {
			trySet(t, d, v, value)
		}
	}
}

func trySet(t *testing.T, d *Document, v Value, value any) {
	edited, err := d.Set(v.Path, value)
	if err != nil {
		return
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

func tryInsert(t *testing.T, d *Document, v Value) {
	p := v.Path.Join("new", "key")
	edited, err := d.Insert(p, 7)
	if err != nil {
		return
	}
	if now, err := edited.Find(p); err != nil || now.Data != int64(7) {
		t.Fatalf("new.key reads as %v (%v) after inserting 7:\n%q\n%q", now.Data, err, d.Bytes(), edited.Bytes())
	}
}

func FuzzYAML(f *testing.F) {
	fuzzFormat(f, YAML, stages, "a: {b: [1, 'x'], \"c\": ~}\r\n", "? a\n: &x !!int 1\nb: *x\n", "- |\n  t\n- >+2\n   t\n\n", "a:\n- b: 1\n---\n", "? &x:1:")
}

func FuzzJSON(f *testing.F) {
	fuzzFormat(f, JSON, "{\"a\": [1, 2.5, null,], // x\n \"b\": {\"c\": \"auto\"}}", "\ufeff[]")
}

func FuzzTOML(f *testing.F) {
	fuzzFormat(f, TOML, titan, "a.b.c = 1\r\n[a.d]\r\n", "\na.b.c=1", "[[x]]\n[x.y]\nz = [{a=1},[]]\n",
		"[a"+strings.Repeat(".a", 100)+"]\n", "a"+strings.Repeat(".a", 100)+" = 1\n", "a = "+strings.Repeat("[", 100)+strings.Repeat("]", 100),
		"[[a.b]]\n[a.b.c]\n[[a.b]]\n[a.b.c]\nd.e = 1979-05-27\n", "a = {b.c = 1, b.d = 0x1F}\n[e]\n")
}

func FuzzPython(f *testing.F) {
	fuzzFormat(f, Python, nano, "a = {'b': (1,), **c}\nd = f\"x\"\n", "a=b=1\n")
}

func FuzzShell(f *testing.F) {
	fuzzFormat(f, Shell, script, "a=`b` c=$(d \"e\" (f)) g --h=$i\n", "x=${y:-3}\n")
}
