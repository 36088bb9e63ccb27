// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"slices"
	"sync"
)

// Settings returns the table in display order.
func Settings() []*Setting { return table().rows }

// Find returns the setting with a name, or nil.
func Find(name string) *Setting { return table().byName[name] }

// FlagOf returns the usual flag of a setting, or "".
func FlagOf(name string) string {
	if x := Find(name); x != nil && len(x.Flags) > 0 {
		return x.Flags[0].Name
	}
	return ""
}

// Objects lists the top-level names of a setup, each once. These are the names that --lock accepts.
func Objects() []string {
	out := []string{"model"}
	for _, x := range Settings() {
		object, key := x.group()
		if object == "" {
			object = key
		}
		if !slices.Contains(out, object) {
			out = append(out, object)
		}
	}
	return out
}

// Used returns the names of the settings with a given use.
func Used(u Use) []string {
	var out []string
	for _, x := range Settings() {
		if x.Has(u) {
			out = append(out, x.Name)
		}
	}
	return out
}

// settingTable holds the rows and an index.
type settingTable struct {
	rows   []*Setting
	byName map[string]*Setting
}

// table returns the table. It is built on first use, because some words are computed.
var table = sync.OnceValue(func() settingTable {
	t := settingTable{byName: map[string]*Setting{}}
	for _, part := range [][]Setting{runSettings(), evaluationSettings(), adapterSettings(), placeSettings()} {
		for i := range part {
			t.rows = append(t.rows, &part[i])
			t.byName[part[i].Name] = &part[i]
		}
	}
	return t
})
