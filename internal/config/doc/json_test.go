// SPDX-License-Identifier: Apache-2.0

package doc

import "testing"

func TestJSON(t *testing.T) {
	testEdits(t, "ds.json", []editCase{
		{name: "comments and commas stay", before: "{\n  // micro\n  \"a\": 8, /* b */\n  \"b\": [1, 2,],\n}\n", path: "a", value: 16, after: "{\n  // micro\n  \"a\": 16, /* b */\n  \"b\": [1, 2,],\n}\n"},
		{name: "auto becomes a number", before: `{"a": "auto"}`, path: "a", value: 4, after: `{"a": 4}`},
		{name: "quoted number stays quoted", before: `{"a": "8"}`, path: "a", value: 4, after: `{"a": "4"}`},
		{name: "deep", before: "{\r\n\t\"a\": {\"b\": [{\"c\": true}]}\r\n}", path: "a.b[0].c", value: false, after: "{\r\n\t\"a\": {\"b\": [{\"c\": false}]}\r\n}"},
		{name: "text", before: `{"a": null}`, path: "a", value: `x"<y>`, after: `{"a": "x\"<y>"}`},
		{name: "float", before: `{"a": 1e-5}`, path: "a", value: 5e8, after: `{"a": 5.0e+08}`},
		{name: "byte order mark", before: "\ufeff{\"a\": 1}\n", path: "a", value: 2, after: "\ufeff{\"a\": 2}\n"},
		{name: "twice", before: `{"a": 1, "a": 2}`, path: "a", value: 2, err: ErrAmbiguous, says: "ds.json:1:10: "},
		{name: "map", before: `{"a": {}}`, path: "a", value: 2, err: ErrKind, says: "ds.json:1:7: a is a map"},

		{name: "insert on a line", insert: true, before: "{\n    \"a\": 1\n}\n", path: "b", value: 2, after: "{\n    \"a\": 1,\n    \"b\": 2\n}\n"},
		{name: "insert behind a comment", insert: true, before: "{\n  \"a\": 1 // one\n}\n", path: "b", value: 2, after: "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n"},
		{name: "insert two levels", insert: true, before: "{\n  \"a\": {\n    \"x\": 1\n  }\n}\n", path: "b.c", value: 2, after: "{\n  \"a\": {\n    \"x\": 1\n  },\n  \"b\": {\n    \"c\": 2\n  }\n}\n"},
		{name: "insert in place", insert: true, before: `{"a": 1}`, path: "b.c", value: true, after: `{"a": 1, "b": {"c": true}}`},
		{name: "insert into nothing", insert: true, before: "{}\n", path: "b", value: 2, after: "{\"b\": 2}\n"},
		{name: "insert into nothing on lines", insert: true, before: "{\n}\n", path: "b", value: 2, after: "{\n    \"b\": 2\n}\n"},
		{name: "insert into a list", insert: true, before: "[1]", path: "b", value: 2, err: ErrKind},
	})
}
