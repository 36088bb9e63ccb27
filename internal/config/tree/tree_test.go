// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"snug/internal/config/doc"
)

// layered returns a tree of YAML texts, each under a key.
func layered(t *testing.T, texts ...string) Tree {
	t.Helper()
	var layers []Layer
	for i := 0; i < len(texts); i += 3 {
		d, err := doc.OpenAs(texts[i], doc.YAML, []byte(texts[i+2]))
		if err != nil {
			t.Fatal(err)
		}
		var mount doc.Path
		if texts[i+1] != "" {
			mount = strings.Split(texts[i+1], ".")
		}
		layers = append(layers, Layer{File: texts[i], Doc: d, Mount: mount})
	}
	return New(layers...)
}

// TestFind checks the file and the path that a value comes from.
func TestFind(t *testing.T) {
	tree := layered(t,
		"data.yaml", "data", "batch_size: 4\nworkers: ${.batch_size}\n",
		"main.yaml", "", "data: {batch_size: 8}\nsize: ${data.batch_size}\nenv: ${oc.env:B}\nlost: ${nowhere}\na: ${b}\nb: ${a}\n")
	for path, want := range map[string]string{
		"data.batch_size": "main.yaml data.batch_size 8",
		"data.workers":    "main.yaml data.batch_size 8", // an interpolation relative to its own map; a later layer has the value
		"size":            "main.yaml data.batch_size 8",
		"env":             "computed",
		"data.absent":     "absent",
		"lost":            "main.yaml:4:7: ${nowhere} names nowhere, which does not exist here; if another config includes this file, name that one",
		"a":               "cycle",
	} {
		at, err := tree.Find(strings.Split(path, "."))
		got := at.File + " " + at.Path.String() + " " + at.Value.Text
		switch {
		case errors.Is(err, ErrAbsent):
			got = "absent"
		case err != nil && strings.Contains(err.Error(), "cycle"):
			got = "cycle"
		case err != nil:
			got = err.Error()
		case at.Computed != "":
			got = "computed"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
}

// TestUsers checks which other places use a value.
func TestUsers(t *testing.T) {
	tree := layered(t, "main.yaml", "", "n: 4\na: ${n}\nb:\n  c: ${a}\nd: 4\n")
	at, err := tree.Find(doc.Path{"n"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b.c"}, tree.Users(at)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestExpand checks which paths match a table's pattern.
func TestExpand(t *testing.T) {
	tree := layered(t, "main.yaml", "", "sets: [{n: 1}, {n: 2}]\ndeep: {er: {n: 3}}\n")
	for pattern, want := range map[string]string{
		"sets.*":    "sets.0 sets.1",
		"**.n":      "sets.0.n sets.1.n deep.er.n",
		"deep.er.n": "deep.er.n",
		"deep.n":    "",
		"deep.*":    "",
	} {
		var got []string
		for _, p := range tree.Expand(pattern) {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", pattern, diff)
		}
	}
}
