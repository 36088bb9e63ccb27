// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"errors"
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
)

// defaultsEntry is one entry of a defaults list.
type defaultsEntry struct {
	group, pkg, option string
	override, optional bool
}

// isSelf reports whether the entry is _self_, the file itself.
func (e defaultsEntry) isSelf() bool { return e.option == "_self_" && e.group == "" }

// defaultsOf returns a file's defaults list, at most one more entry than allowed.
func defaultsOf(d *doc.Document, most int) ([]defaultsEntry, error) {
	list, err := d.Find(doc.Path{"defaults"})
	if errors.Is(err, doc.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if list.Kind != doc.List {
		return nil, fmt.Errorf("%s:%d:%d: defaults contains a %s, not a list", d.Name(), list.Line, list.Column, list.Kind)
	}
	return listed(d, most)
}

// listed returns the entries of a list of strings and maps from groups to options. One walk finds them all;
// aliases are looked up.
func listed(d *doc.Document, most int) (out []defaultsEntry, err error) {
	d.Walk(func(v doc.Value) bool {
		p := v.Path
		if len(p) < 2 || p[0] != "defaults" {
			return true
		}
		text, isText := v.Data.(string)
		switch {
		case len(p) == 2 && isText:
			out = append(out, defaultsEntry{option: text})
		case len(p) == 2 && v.Via != nil:
			var more []defaultsEntry
			more, err = aliased(d, v)
			out = append(out, more...)
		case len(p) == 3 && p[2] != "<<":
			option, _ := systems.AsText(v)
			out = append(out, entryOf(p[2], option))
		}
		return err == nil && len(out) <= most
	})
	return out, err
}

// aliased returns the entries of a map that is defined elsewhere.
func aliased(d *doc.Document, item doc.Value) ([]defaultsEntry, error) {
	var out []defaultsEntry
	for _, key := range item.Keys {
		v, err := d.Find(item.Path.Join(key))
		if err != nil {
			return nil, err
		}
		option, _ := systems.AsText(v)
		out = append(out, entryOf(key, option))
	}
	return out, nil
}

// entryOf reads "override /data@pkg: option".
func entryOf(key, option string) defaultsEntry {
	e := defaultsEntry{option: option}
	words := strings.Fields(key)
	for len(words) > 1 {
		switch words[0] {
		case "override":
			e.override = true
		case "optional":
			e.optional = true
		}
		words = words[1:]
	}
	if len(words) == 1 {
		e.group, e.pkg, _ = strings.Cut(words[0], "@")
	}
	return e
}
