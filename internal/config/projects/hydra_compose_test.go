// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"snug/internal/config/doc"
	"snug/internal/config/tree"
)

// circle returns n two-line files, each of which names all later ones twice.
func circle(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		var names []string
		for j := i + 1; j < n; j++ {
			names = append(names, fmt.Sprintf("c%d, c%[1]d", j))
		}
		files[fmt.Sprintf("c%d.yaml", i)] = fmt.Sprintf("defaults: [%s]\nbatch_size: %d\n", strings.Join(names, ", "), i+1)
	}
	return files
}

// Files that name each other repeatedly are composed once each. Otherwise fifteen files that each name all
// later ones twice would become millions of layers.
func TestHydraNamesTwice(t *testing.T) {
	files := circle(15)
	bounded(t, 64<<20, func() {
		p, err := Find(mapFS(files), ".")
		if err != nil {
			t.Fatal(err)
		}
		if main, _ := p.Main(); main != "c0.yaml" || p.BindingsOf("batch")[0].Value != 1 {
			t.Errorf("the main file is %s, with a batch of %v", main, p.BindingsOf("batch")[0].Value)
		}
		if n := len(p.Primary.Tree.Layers); n != len(files) {
			t.Errorf("%d layers of %d files", n, len(files))
		}
	})
}

// The number of files that cannot be skipped, because each has another key, is limited.
func TestHydraHasAnEnd(t *testing.T) {
	keys, deep, long := map[string]string{}, map[string]string{}, map[string]string{}
	for i := range 19 {
		keys[fmt.Sprintf("c%d.yaml", i)] = fmt.Sprintf("defaults: [/@x: c%d, /@y: c%[1]d]\nbatch_size: 4\n", i+1)
	}
	keys["c19.yaml"] = "batch_size: 4\n"
	for i := range 30 {
		deep[fmt.Sprintf("c%d.yaml", i)] = fmt.Sprintf("defaults: [c%d]\nbatch_size: 4\n", (i+1)%30)
	}
	long["c0.yaml"] = "defaults:\n" + strings.Repeat("- c1\n", 50_000) + "batch_size: 4\n"
	long["c1.yaml"] = "x: 1\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"keys": {keys, "the defaults lists have more than 2000 entries"},
		"deep": {deep, "its defaults form a cycle"},
		"long": {long, "the defaults lists have more than 2000 entries"},
	} {
		bounded(t, 128<<20, func() {
			if _, err := Find(mapFS(c.files), ".", "c0.yaml"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
		})
	}
}

// forward composes a tree in the simple way: from the first entry to the last, each file as often as it is
// named.
func (c *hydraComposer) forward(file, group string, mount doc.Path) []tree.Layer {
	d, name, err := c.open(path.Join(c.root, file))
	if err != nil {
		return nil
	}
	entries, err := defaultsOf(d, maxDefaults)
	if err != nil {
		return nil
	}
	self, placed := tree.Layer{File: name, Doc: d, Mount: mount}, false
	var out []tree.Layer
	for _, e := range entries {
		if e.isSelf() {
			out, placed = append(out, self), true
			continue
		}
		in := path.Join(group, e.group)
		if strings.HasPrefix(e.group, "/") {
			in = strings.Trim(e.group, "/")
		}
		if next, _, err := c.open(path.Join(c.root, in, e.option)); err == nil {
			out = append(out, c.forward(path.Join(in, e.option), in, c.mounted(e, next, in, mount))...)
		}
	}
	if !placed {
		out = append(out, self)
	}
	return out
}

// TestHydraPassesOver checks that skipping repetitions does not change a tree's values.
func TestHydraPassesOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		n := rapid.IntRange(2, 6).Draw(t, "files")
		for i := range n {
			entries := []string{}
			for range rapid.IntRange(0, 4).Draw(t, "entries") {
				j := rapid.IntRange(i+1, n).Draw(t, "names")
				form := rapid.SampledFrom([]string{"c%d", "c%d", "g: c%d", "g@x: c%d", "/g@_global_: c%d", "_self_"}).Draw(t, "form")
				if form == "_self_" && (slices.Contains(entries, form)) {
					continue
				}
				if strings.Contains(form, "%d") {
					form = fmt.Sprintf(form, j)
				}
				entries = append(entries, form)
			}
			keys := ""
			for _, k := range []string{"a", "b", "x"} {
				if rapid.Bool().Draw(t, "has") {
					keys += fmt.Sprintf("%s: {v: %d}\n", k, i)
				}
			}
			text := fmt.Sprintf("defaults: [%s]\n%s", strings.Join(entries, ", "), keys)
			files[fmt.Sprintf("c%d.yaml", i)], files[fmt.Sprintf("g/c%d.yaml", i)] = text, text
			files[fmt.Sprintf("g/g/c%d.yaml", i)] = text
		}
		fs := mapFS(files)
		c := &hydraComposer{files: newReader(fs, nil), root: ".", overrides: map[string]string{}}
		plain := tree.Tree{Layers: c.forward("c0.yaml", "", nil)}
		got, _, err := composeHydra(newReader(fs, nil), "c0.yaml", plain.Layers[slices.IndexFunc(plain.Layers, func(l tree.Layer) bool { return l.File == "c0.yaml" })].Doc)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(valuesByPath(plain), valuesByPath(got)); diff != "" {
			t.Fatalf("%v (-forward +skipping):\n%s", files, diff)
		}
	})
}

// valuesByPath returns all values of a tree, by path.
func valuesByPath(t tree.Tree) map[string]string {
	out := map[string]string{}
	for _, l := range t.Layers {
		l.Doc.Walk(func(v doc.Value) bool {
			p := l.Mount.Join(v.Path...)
			if at, err := t.LastSet(p); err == nil && at.Value.Kind != doc.Map && !slices.Contains(p, "defaults") {
				out[p.String()] = at.File + " " + at.Value.Text
			}
			return true
		})
	}
	return out
}

// FuzzHydra composes folders from their config.yaml and by a search, and checks that both take memory in
// proportion to the files. In the input, each file is a line with its name, its text, and a zero byte.
func FuzzHydra(f *testing.F) {
	for _, files := range []map[string]string{
		circle(8),
		{"config.yaml": merged(15, 8)},
		{"config.yaml": "defaults: [data: a, override /data: b, _self_]\nbatch_size: ${data.n}\n", "data/a.yaml": "n: 4\n", "data/b.yaml": "# @package _global_\nn: 8\n"},
		{"config.yaml": "defaults: [g@x: a, g@y: a]\nbatch_size: 4\n", "g/a.yaml": "defaults: [b, b]\nz: &z {a: 1}\n", "g/b.yaml": "z: {<<: *z}\n"},
	} {
		all := ""
		for _, name := range slices.Sorted(maps.Keys(files)) {
			all += name + "\n" + files[name] + "\x00"
		}
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, data string) {
		files := map[string]string{}
		for part := range strings.SplitSeq(data, "\x00") {
			name, text, _ := strings.Cut(part, "\n")
			files[name] = text
		}
		bounded(t, 64<<20+10_000*len(data), func() {
			_, _ = Find(mapFS(files), ".", "config.yaml")
			_, _ = Find(mapFS(files), ".")
		})
	})
}
