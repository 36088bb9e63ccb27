// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"sync"
)

// keyTable is the keys of a system, and what is asked of them: a document's names
// are looked up here, once each, rather than held against every key.
type keyTable struct {
	all       []Key
	bySetting map[string][]*Key
	// byName is where in the table the keys stand whose paths end in a name.
	byName map[string][]int
	// sections are the paths that keys stand below.
	sections map[string]bool
	// names are the last steps of the paths in each section, of those that are
	// written out.
	names map[string][]string
}

// made is the table of keys that are put together when they are first asked for.
func made(keys func() []Key) func() *keyTable {
	return sync.OnceValue(func() *keyTable { return newKeyTable(keys()) })
}

func newKeyTable(keys []Key) *keyTable {
	t := &keyTable{all: keys, bySetting: map[string][]*Key{}, byName: map[string][]int{}, sections: map[string]bool{}, names: map[string][]string{}}
	for i := range keys {
		k := &keys[i]
		t.bySetting[k.Setting] = append(t.bySetting[k.Setting], k)
		if k.Path != "" {
			t.add(i, k.Path)
		}
	}
	return t
}

// add indexes the path of a key.
func (t *keyTable) add(i int, path string) {
	section, name := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		section, name = path[:dot], path[dot+1:]
	}
	t.byName[name] = append(t.byName[name], i)
	if !strings.Contains(path, "*") {
		t.names[section] = append(t.names[section], name)
	}
	for section != "" && !t.sections[section] {
		t.sections[section] = true
		section = section[:max(strings.LastIndexByte(section, '.'), 0)]
	}
}
