// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"strconv"
	"strings"

	"snug/internal/config/doc"
)

// Expand returns the paths in a tree that match a table's pattern.
func (t Tree) Expand(pattern string) []doc.Path {
	if name, ok := strings.CutPrefix(pattern, "**."); ok {
		return t.named(name)
	}
	paths := []doc.Path{nil}
	for step := range strings.SplitSeq(pattern, ".") {
		var next []doc.Path
		for _, p := range paths {
			next = append(next, t.step(p, step)...)
		}
		paths = next
	}
	return paths
}

// maxItems limits the items of a list that are searched.
const maxItems = 1000

func (t Tree) step(p doc.Path, step string) []doc.Path {
	if step != "*" {
		if p = p.Join(step); t.Has(p) {
			return []doc.Path{p}
		}
		return nil
	}
	list, err := t.LastSet(p)
	if err != nil || list.Value.Kind != doc.List {
		return nil
	}
	var out []doc.Path
	for i := range min(list.Value.Len, maxItems) {
		out = append(out, p.Join(strconv.Itoa(i)))
	}
	return out
}

// NameParts returns a path in lower case with underscores, without a flag's dashes
// and number.
func NameParts(p doc.Path) []string {
	parts := make([]string, 0, len(p))
	for _, step := range p {
		step, _, _ = strings.Cut(strings.TrimLeft(step, "-"), "#")
		step = strings.ReplaceAll(strings.ToLower(step), "-", "_")
		switch {
		case strings.HasPrefix(step, "@") || step == "":
		case strings.IndexByte(step, '.') < 0:
			parts = append(parts, step)
		default:
			parts = append(parts, strings.Split(step, ".")...)
		}
	}
	return parts
}

// Users returns the other places in a tree that take their value from a leaf through an interpolation.
func (t Tree) Users(leaf Place) []string {
	var out []string
	t.Walk(func(p doc.Path, v doc.Value) {
		text, _ := v.Data.(string)
		if v.Kind != doc.Text || !strings.Contains(text, "${") || p.Equal(leaf.At) {
			return
		}
		at, err := t.Find(p)
		if err == nil && at.Computed == "" && at.File == leaf.File && at.Path.Equal(leaf.Path) {
			out = append(out, p.String())
		}
	})
	return out
}
