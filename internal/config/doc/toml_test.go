// SPDX-License-Identifier: Apache-2.0

package doc

import "testing"

const titan = `# job
[job]
name = 'debug'   # literal

[training]
local_batch_size = 8     # per rank
seq_len = 2_048
steps = 10
mixed.param = "bfloat16"

  [training.inner]
  on = true

[[stage]]
lr = 1e-3
sizes = [ [1, 2], # nested
  [3], ]
inline = { a = 1, b.c = "2" }

[[stage]]
lr = 5
`

func TestTOML(t *testing.T) {
	replace := func(old, now string) string { return replaceOnce(t, titan, old, now) }
	testEdits(t, "train.toml", []editCase{
		{name: "comment stays", before: titan, path: "training.local_batch_size", value: 16, after: replace("= 8 ", "= 16 ")},
		{name: "underscores", before: titan, path: "training.seq_len", value: 4096, after: replace("2_048", "4096")},
		{name: "literal quotes", before: titan, path: "job.name", value: "x", after: replace("'debug'", "'x'")},
		{name: "dotted key", before: titan, path: "training.mixed.param", value: "float32", after: replace("bfloat16", "float32")},
		{name: "inner table", before: titan, path: "training.inner.on", value: false, after: replace("true", "false")},
		{name: "nested lists", before: titan, path: "stage[0].sizes[1][0]", value: 7, after: replace("[3]", "[7]")},
		{name: "quoted number in an inline table", before: titan, path: "stage[0].inline.b.c", value: 7, after: replace(`"2"`, `"7"`)},
		{name: "second item", before: titan, path: "stage[1].lr", value: 0.5, after: replace("lr = 5", "lr = 0.5")},
		{name: "carriage returns", before: "a = 1\r\n[b]\r\nc = 'x' # d\r\n", path: "b.c", value: "y", after: "a = 1\r\n[b]\r\nc = 'y' # d\r\n"},
		{name: "byte order mark", before: "\ufeffa = 1\n", path: "a", value: 2, after: "\ufeffa = 2\n"},
		{name: "null", before: "a = 1\n", path: "a", value: nil, err: ErrKind},
		{name: "list", before: titan, path: "stage[0].sizes", value: 1, err: ErrKind},
		{name: "several lines", before: "a = \"\"\"\nb\"\"\"\n", path: "a", value: "x", err: ErrFixed},

		{name: "insert", insert: true, before: titan, path: "training.accum", value: 4, after: replace("\"bfloat16\"\n", "\"bfloat16\"\naccum = 4\n")},
		{name: "insert indented", insert: true, before: titan, path: "training.inner.off", value: false, after: replace("on = true\n", "on = true\n  off = false\n")},
		{name: "insert dotted", insert: true, before: titan, path: "training.mixed.reduce", value: "float32", after: replace("\"bfloat16\"\n", "\"bfloat16\"\nmixed.reduce = \"float32\"\n")},
		{name: "insert into a dotted table of a dotted table", insert: true, before: "x = 1\na.b.c = 1\ny = 1\n", path: "a.d", value: 2, after: "x = 1\na.b.c = 1\na.d = 2\ny = 1\n"},
		{name: "insert inline", insert: true, before: titan, path: "stage[0].inline.d", value: 1, after: replace("\"2\" }", "\"2\", d = 1 }")},
		{name: "insert into the last table", insert: true, before: titan, path: "stage[1].wd", value: 0.1, after: titan + "wd = 0.1\n"},
		{name: "insert into the first item", insert: true, before: titan, path: "stage[0].wd", value: 0.1, after: replace("\"2\" }\n", "\"2\" }\nwd = 0.1\n")},
		{name: "insert into the root", insert: true, before: "a = 1\n\n[b]\nc = 1\n", path: "d", value: 2, after: "a = 1\nd = 2\n\n[b]\nc = 1\n"},
		{name: "insert into the root without keys", insert: true, before: titan, path: "d", value: 2, after: "d = 2\n\n" + titan},
		{name: "insert a table", insert: true, before: "a = 1\n", path: "b.c", value: 2, after: "a = 1\n\n[b]\nc = 2\n"},
		{name: "insert a table within another", insert: true, before: titan, path: "job.x.y", value: 2, after: replace("# literal\n", "# literal\n\n[job.x]\ny = 2\n")},
		{name: "insert into an implicit table", insert: true, before: "# about\n[a.b]\nc = 1\n", path: "a.d", value: 2, after: "[a]\nd = 2\n\n# about\n[a.b]\nc = 1\n"},
		{name: "insert without a final newline", insert: true, before: "[a]\nc = 1", path: "a.d", value: 2, after: "[a]\nc = 1\nd = 2"},
		{name: "insert under an empty header", insert: true, before: "[a]\n[b]\n", path: "a.d", value: 2, after: "[a]\nd = 2\n[b]\n"},
		{name: "insert into nothing", insert: true, before: "", path: "a", value: 2, after: "a = 2"},
	})
}

func TestTOMLDottedTablesEndWithTheirLastValue(t *testing.T) {
	const text = "x = 1\na.b.c = 1\na.d = 22\n"
	d, err := OpenAs("train.toml", TOML, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path Path
		want string
	}{
		{Path{"a"}, "a.b.c = 1\na.d = 22"},
		{Path{"a", "b"}, "a.b.c = 1"},
	} {
		v, err := d.Find(c.path)
		if err != nil || v.Text != c.want {
			t.Errorf("%s: %q (%v), want %q", c.path, v.Text, err, c.want)
		}
	}
}
