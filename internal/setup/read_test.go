// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endless is a reader that repeats a line forever, and counts the bytes read.
type endless struct {
	line  string
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.line[e.taken%len(e.line):])
	e.taken += n
	return n, nil
}

// TestReaderReadsAhead checks that JSON Lines are read one by one.
func TestReaderReadsAhead(t *testing.T) {
	in := &endless{line: `{"model": {"name": "gpt2"}, "batch": 4}` + "\n"}
	r := NewReader(in)
	for i := range 1000 {
		raw, err := r.Next()
		if err != nil || raw.Err != nil || raw.Line != i+1 || raw.Fields["batch"] != 4.0 {
			t.Fatalf("setup %d: %+v, %v", i, raw, err)
		}
		if ahead := in.taken - (i+1)*len(in.line); ahead > 128<<10 {
			t.Fatalf("%d bytes were read ahead", ahead)
		}
	}
}

// TestReaderHasAnEnd checks that endless input, or input too large to be a setup, is refused.
func TestReaderHasAnEnd(t *testing.T) {
	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"zeros":       {&endless{line: "\x00"}, "larger than 4 MiB"},
		"YAML":        {&endless{line: "batch: 4\n"}, "larger than 4 MiB"},
		"blank lines": {&endless{line: "\n"}, "larger than 4 MiB"},
		"one object":  {&endless{line: `{"a": `}, "larger than 4 MiB"},
		"binary":      {&endless{line: "\x00\n"}, "not text"},
	} {
		if _, err := NewReader(c.in).Next(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	long := `{"id": "a"}` + "\n" + `{"id": "` + strings.Repeat("x", maxText) + `"}` + "\n" + `{"id": "b"}` + "\n"
	raws, err := Read(strings.NewReader(long))
	if err != nil || len(raws) != 3 || raws[1].Err == nil || !strings.Contains(raws[1].Err.Error(), "2: longer than 4 MiB") || raws[2].Fields["id"] != "b" || raws[2].Line != 3 {
		t.Errorf("%d setups, %v", len(raws), err)
	}
}

// TestReadKinds checks that files of every format are recognized by their beginning.
func TestReadKinds(t *testing.T) {
	big := strings.Repeat(" ", 70_000) // more than is buffered at a time
	for name, c := range map[string]struct {
		text string
		want []string // the IDs, or the start of the error
	}{
		"one line":              {`{"id": "a"}`, []string{"a"}},
		"lines":                 {"{\"id\": \"a\"}\n\n{\"id\": \"b\"}\n", []string{"a", "b"}},
		"no last newline":       {"{\"id\": \"a\"}\n{\"id\": \"b\"}", []string{"a", "b"}},
		"a BOM":                 {"\xef\xbb\xbf{\"id\": \"a\"}\n{\"id\": \"b\"}\n", []string{"a", "b"}},
		"long lines":            {"{\"id\":" + big + "\"a\"}\n{\"id\":" + big + "\"b\"}\n", []string{"a", "b"}},
		"a broken first line":   {"{\"id\": \n{\"id\": \"b\"}\n", []string{"1:8: not JSON", "b"}},
		"a broken last line":    {"{\"id\": \"a\"}\n{\"id\": ", []string{"a", "2:"}},
		"over several lines":    {"{\n\"id\":\n\"a\"\n}\n", []string{"a"}},
		"an object within":      {"{\"id\": \"a\", \"model\":\n{\"name\": \"x\"}\n}\n", []string{"a"}},
		"a list":                {"[\n{\"id\": \"a\"}\n]\n", []string{"1: a setup is an object"}},
		"YAML":                  {"id: a\n", []string{"a"}},
		"YAML documents":        {"id: a\n---\nid: b\n", []string{"a", "b"}},
		"blank lines before":    {"\n\n{\"id\": \"a\"}\n{\"id\": \"b\"}\n", []string{"a", "b"}},
		"twice in JSON":         {"{\"batch\": 1, \"batch\": 2}\n{\"id\": \"b\"}\n", []string{`1:14: "batch" is given twice; keep one`, "b"}},
		"twice over lines":      {"{\"batch\": 1,\n  \"batch\": 2}\n", []string{`2:3: "batch" is given twice; keep one`}},
		"twice deeper":          {`{"id": "a", "model": {"name": "x", "head": ["batch", {"a": 1}], "name": "y"}}`, []string{`1:65: "name" is given twice; keep one`}},
		"the same in others":    {`{"id": "a", "lora": {"rank": 1}, "model": {"rank": [{"rank": 1}, {"rank": 2}]}}`, []string{"a"}},
		"twice in YAML":         {"batch: 1\nbatch: 2\n", []string{`2:1: "batch" is given twice; keep one`}},
		"twice deeper in YAML":  {"model: {name: x}\nlora:\n  rank: 1\n  alpha: 2\n  rank: 3\n", []string{`5:3: "rank" is given twice; keep one`}},
		"the same in YAML maps": {"id: a\nlora: {rank: 1}\nother: {rank: 2}\n", []string{"a"}},
	} {
		raws, err := Read(strings.NewReader(c.text))
		var got []string
		for i, r := range raws {
			text, _ := r.Fields["id"].(string)
			if r.Err != nil && i < len(c.want) && strings.HasPrefix(r.Err.Error(), c.want[i]) {
				text = c.want[i]
			} else if r.Err != nil {
				text = r.Err.Error()
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if _, err := Read(strings.NewReader("\n\n")); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an empty file: %v", err)
	}
}
