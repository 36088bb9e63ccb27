// SPDX-License-Identifier: Apache-2.0

package doc

import "testing"

const stages = `defaults: &defaults
  batch: 8   # keep
  lr: 1.0e-5
one:
  <<: *defaults
two:
  <<: *defaults
  batch: 4
`

func TestYAMLSet(t *testing.T) {
	testEdits(t, "config.yaml", []editCase{
		{name: "comment stays", before: "batch_size: 8   # per GPU\nlr: 1\n", path: "batch_size", value: 16, after: "batch_size: 16   # per GPU\nlr: 1\n"},
		{name: "carriage returns stay", before: "a:\r\n    b:  8\r\nc: d", path: "a.b", value: 12, after: "a:\r\n    b:  12\r\nc: d"},
		{name: "byte order mark stays", before: "\ufeffa: 1\n", path: "a", value: 2, after: "\ufeffa: 2\n"},
		{name: "quoted number stays quoted", before: "a: \"8\"\n", path: "a", value: 16, after: "a: \"16\"\n"},
		{name: "single quotes", before: "a: '8' # x\n", path: "a", value: 16, after: "a: '16' # x\n"},
		{name: "auto becomes a number", before: "a: \"auto\"\n", path: "a", value: 16, after: "a: 16\n"},
		{name: "anchor and tag stay", before: "a: !!int &x 8\n", path: "a", value: 9, after: "a: !!int &x 9\n"},
		{name: "tag before quotes", before: "a: !!int \"8\"\n", path: "a", value: 9, after: "a: !!int \"9\"\n"},
		{name: "style of yes", before: "a: Yes\nb: on\nc: True\n", path: "a", value: false, after: "a: No\nb: on\nc: True\n"},
		{name: "style of True", before: "a: yes\nc: True\n", path: "c", value: false, after: "a: yes\nc: False\n"},
		{name: "left out", before: "a:\nb: 1\n", path: "a", value: 3, after: "a: 3\nb: 1\n"},
		{name: "left out after an anchor", before: "a: &x\nb: 1\n", path: "a", value: 3, after: "a: &x 3\nb: 1\n"},
		{name: "left out in a list", before: "- 1\n-\n- 2\n", path: "[1]", value: 3, after: "- 1\n- 3\n- 2\n"},
		{name: "flow", before: "s: {0: 4, 4: 2, 8: 1} # schedule\n", path: "s.4", value: 16, after: "s: {0: 4, 4: 16, 8: 1} # schedule\n"},
		{name: "left out in flow", before: "s: {a: , b: 1}\n", path: "s.a", value: 16, after: "s: {a: 16, b: 1}\n"},
		{name: "list item", before: "a:\n- b: 1\n  c: 2\n- b: 3\n", path: "a[1].b", value: 4, after: "a:\n- b: 1\n  c: 2\n- b: 4\n"},
		{name: "text without quotes", before: "p: 32-true\n", path: "p", value: "bf16-mixed", after: "p: bf16-mixed\n"},
		{name: "text that needs quotes", before: "p: a\n", path: "p", value: "no", after: "p: 'no'\n"},
		{name: "text with a colon", before: "p: a\n", path: "p", value: "a: b # 'c'", after: "p: 'a: b # ''c'''\n"},
		{name: "text in double quotes", before: "p: \"a\"\n", path: "p", value: `x"\y`, after: "p: \"x\\\"\\\\y\"\n"},
		{name: "small number", before: "p: 0.1\n", path: "p", value: 1e-5, after: "p: 1.0e-05\n"},
		{name: "null", before: "p: ~\n", path: "p", value: 4, after: "p: 4\n"},
		{name: "to null", before: "p: 4\n", path: "p", value: nil, after: "p: null\n"},
		{name: "not ASCII", before: "ключ: {é: 1, ü: 2} # ß\n", path: "ключ.ü", value: 30, after: "ключ: {é: 1, ü: 30} # ß\n"},
		{name: "second document", before: "# first\n---\na: 1\n---\nb: 2\n", path: "a", value: 5, after: "# first\n---\na: 5\n---\nb: 2\n"},
		{name: "explicit key", before: "? a\n: 1\n? b\n: 2\n", path: "b", value: 5, after: "? a\n: 1\n? b\n: 5\n"},
		{name: "Mac line ends", before: "a: 1\rb: 2\r", path: "b", value: 5, after: "a: 1\rb: 5\r"},

		{name: "missing", before: "a: 1\n", path: "b", value: 5, err: ErrNotFound, says: "config.yaml:1:1: b is missing"},
		{name: "through a number", before: "a: 1\n", path: "a.b", value: 5, err: ErrNotFound, says: "a is a whole number"},
		{name: "list where a number is due", before: "a:\n  b: [1, 2]\n", path: "a.b", value: 5, err: ErrKind, says: "config.yaml:2:6: a.b is a list"},
		{name: "map", before: "a:\n  b: 1\n", path: "a", value: 5, err: ErrKind},
		{name: "block of text", before: "a: |\n  b\n", path: "a", value: 5, err: ErrFixed},
		{name: "several lines", before: "a: b\n  c\nd: 1\n", path: "a", value: 5, err: ErrFixed},
		{name: "twice", before: "a: 1\nb: 2\na: 3\n", path: "a", value: 5, err: ErrAmbiguous, says: "config.yaml:3:1"},
		{name: "out of range", before: "a: [1]\n", path: "a[1]", value: 5, err: ErrNotFound, says: "1 items"},
	})
}

func TestYAMLShared(t *testing.T) {
	testEdits(t, "config.yaml", []editCase{
		{name: "alias of a definition elsewhere", before: "bs: &bs 8 # all\ntrain: {batch: *bs}\n", path: "train.batch", value: 16, after: "bs: &bs 16 # all\ntrain: {batch: *bs}\n"},
		{name: "definition with a user", before: "batch: &bs 8\neval: *bs\n", path: "batch", value: 16, err: ErrShared, says: "config.yaml:1:12: batch is shared with other places: eval (line 2) would change too"},
		{name: "alias with another user", before: "x: &bs 8\na: *bs\nb: *bs\n", path: "a", value: 16, err: ErrShared, says: "b (line 3)"},
		{name: "merge, both users", before: stages, path: "one.lr", value: 2, err: ErrShared, says: "two"},
		{name: "merge, the other has its own", before: stages, path: "one.batch", value: 16, after: "defaults: &defaults\n  batch: 16   # keep\n" + stages[len("defaults: &defaults\n  batch: 8   # keep\n"):]},
		{name: "own key over a merged one", before: stages, path: "two.batch", value: 16, after: stages[:len(stages)-len("4\n")] + "16\n"},
		{name: "list of merges", before: "a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: [*a, *b]\n", path: "c.y", value: 3, after: "a: &a {x: 1}\nb: &b {y: 3}\nc:\n  <<: [*a, *b]\n"},
		{name: "an alias around an alias", before: "a: &a 8\nb: &b {x: *a}\nc: *b\nd: *b\n", path: "c.x", value: 3, err: ErrShared, says: "d (line 4)"},
		{name: "inside what is shared", before: "a: &a\n  b: {c: 1}\nd: *a\n", path: "a.b.c", value: 3, err: ErrShared, says: "d (line 3)"},
		{name: "merge overridden by inserting", before: stages, path: "one.batch", value: 16, insert: true, after: "defaults: &defaults\n  batch: 16   # keep\n" + stages[len("defaults: &defaults\n  batch: 8   # keep\n"):]},
		{name: "anchor of itself", before: "a: &a [*a, 1]\nb: 2\n", path: "b", value: 3, after: "a: &a [*a, 1]\nb: 3\n"},
	})
}

func TestYAMLInsert(t *testing.T) {
	testEdits(t, "config.yaml", []editCase{
		{name: "at the end", insert: true, before: "a: 1\nb: 2 # c\n", path: "c", value: 3, after: "a: 1\nb: 2 # c\nc: 3\n"},
		{name: "no final newline", insert: true, before: "a: 1\nb: 2", path: "c", value: 3, after: "a: 1\nb: 2\nc: 3"},
		{name: "carriage returns", insert: true, before: "a:\r\n   x: 1\r\nb: 2\r\n", path: "a.y", value: 3, after: "a:\r\n   x: 1\r\n   y: 3\r\nb: 2\r\n"},
		{name: "before a comment", insert: true, before: "a:\n  x: 1\n\n# about b\nb: 2\n", path: "a.y", value: true, after: "a:\n  x: 1\n  y: true\n\n# about b\nb: 2\n"},
		{name: "within a list", insert: true, before: "a:\n  - x: 1\n  - x: 2\n", path: "a[0].y", value: 3, after: "a:\n  - x: 1\n    y: 3\n  - x: 2\n"},
		{name: "two levels", insert: true, before: "a:\n    x: 1\n", path: "b.c", value: 3, after: "a:\n    x: 1\nb:\n    c: 3\n"},
		{name: "after nothing", insert: true, before: "a:\nb: 1\n", path: "a.x", value: 3, after: "a:\n  x: 3\nb: 1\n"},
		{name: "after nothing at the end", insert: true, before: "b: 1\na:", path: "a.x", value: 3, after: "b: 1\na:\n  x: 3"},
		{name: "empty file", insert: true, before: "", path: "a.b", value: 3, after: "a:\n  b: 3"},
		{name: "only a comment", insert: true, before: "# hello\n", path: "a", value: 3, after: "# hello\na: 3\n"},
		{name: "flow", insert: true, before: "a: {x: 1} # c\n", path: "a.y", value: "z", after: "a: {x: 1, y: z} # c\n"},
		{name: "empty flow", insert: true, before: "a: {}\n", path: "a.y.z", value: 1, after: "a: {y: {z: 1}}\n"},
		{name: "flow on lines", insert: true, before: "a: {\n  x: 1, # one\n  y: 2  # two\n}\n", path: "a.z", value: 3, after: "a: {\n  x: 1, # one\n  y: 2,  # two\n  z: 3\n}\n"},
		{name: "flow on lines with a comma", insert: true, before: "a: {\n  x: 1,\n  y: 2,  # two\n}\n", path: "a.z", value: 3, after: "a: {\n  x: 1,\n  y: 2,  # two\n  z: 3,\n}\n"},
		{name: "after a block of text", insert: true, before: "a:\n  x: |\n    one\n\n    two\nb: 1\n", path: "a.y", value: 3, after: "a:\n  x: |\n    one\n\n    two\n  y: 3\nb: 1\n"},
		{name: "after a nested map", insert: true, before: "a:\n  x:\n    y: 1\nb: 1\n", path: "a.z", value: 3, after: "a:\n  x:\n    y: 1\n  z: 3\nb: 1\n"},
		{name: "after an unindented list", insert: true, before: "a:\n- 1\n- 2\n", path: "b", value: 3, after: "a:\n- 1\n- 2\nb: 3\n"},
		{name: "there already", insert: true, before: "a: 1\n", path: "a", value: 3, after: "a: 3\n"},
		{name: "into a list", insert: true, before: "a: [1]\n", path: "a.x", value: 3, err: ErrKind},
		{name: "into a shared map", insert: true, before: "a: &a {x: 1}\nb: *a\n", path: "a.y", value: 3, err: ErrShared},
		{name: "into a number", insert: true, before: "a: 1\n", path: "a.y", value: 3, err: ErrKind},
	})
}
