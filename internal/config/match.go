// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// source is one configuration that was found: a file, or a tree of them.
type source struct {
	file    string // the one that people would name
	adapter *Adapter
	tree    tree
	// link is the binding that names the file, where one does.
	link *bound
	// program is the system of the program that a shell script passes its flags
	// to, where that program is here and says so.
	program *Adapter
}

// recognise finds the system that a document follows: the first adapter that
// sees its signs. Nil means that nobody knows it.
func recognise(d *doc.Document) *Adapter {
	t := tree{layers: []layer{{doc: d}}}
	for _, a := range Adapters() {
		if slices.Contains(a.Formats, d.Format()) && (a.Makes == nil || a.Makes.Match(d.Bytes())) && a.matches(t) {
			return a
		}
	}
	return nil
}

// matches says whether a tree shows the signs of a system.
func (a *Adapter) matches(t tree) bool {
	if a.ByName {
		return len(a.search(t)) > 0
	}
	return slices.ContainsFunc(a.Signs, func(group string) bool {
		for _, sign := range strings.Fields(group) {
			if len(t.expand(sign)) == 0 {
				return false
			}
		}
		return true
	})
}

// expand is the paths of a tree that a pattern of a table means.
func (t tree) expand(pattern string) []doc.Path {
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

// mostItems is how many items of a list are looked into.
const mostItems = 1000

func (t tree) step(p doc.Path, step string) []doc.Path {
	if step != "*" {
		if p = p.Join(step); t.has(p) {
			return []doc.Path{p}
		}
		return nil
	}
	list, err := t.stands(p)
	if err != nil || list.value.Kind != doc.List {
		return nil
	}
	var out []doc.Path
	for i := range min(list.value.Len, mostItems) {
		out = append(out, p.Join(itoa(i)))
	}
	return out
}

// named is every path that ends in a key.
func (t tree) named(name string) []doc.Path {
	var out []doc.Path
	t.walk(func(p doc.Path, _ doc.Value) {
		if len(p) > 0 && p[len(p)-1] == name {
			out = append(out, p)
		}
	})
	return out
}
