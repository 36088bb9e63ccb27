// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strings"

	"snug/internal/config/doc"
)

// defaultsEntry is one choice of a defaults list.
type defaultsEntry struct {
	group, pkg, option string
	override, optional bool
}

// defaultsOf reads a file's defaults list.
func defaultsOf(d *doc.Document) ([]defaultsEntry, error) {
	list, err := d.Find(doc.Path{"defaults"})
	if errors.Is(err, doc.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if list.Kind != doc.List {
		return nil, fmt.Errorf("%s:%d:%d: defaults holds a %s where a list is due", d.Name(), list.Line, list.Column, list.Kind)
	}
	var out []defaultsEntry
	for i := range list.Len {
		item, err := d.Find(doc.Path{"defaults", itoa(i)})
		if err != nil {
			return nil, err
		}
		if text, ok := item.Data.(string); ok {
			out = append(out, defaultsEntry{option: text})
			continue
		}
		for _, key := range item.Keys {
			v, err := d.Find(doc.Path{"defaults", itoa(i), key})
			if err != nil {
				return nil, err
			}
			option, _ := scalarText(v)
			out = append(out, entryOf(key, option))
		}
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
