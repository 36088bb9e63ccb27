// SPDX-License-Identifier: Apache-2.0

package systems

import (
	"strings"
	"sync"
)

// KeyTable contains a system's keys with indexes, so that each name in a document is looked up once instead
// of being compared with every key.
type KeyTable struct {
	All       []Key // in the order of the table
	bySetting map[string][]*Key
	// ByName maps the last step of a path to the indices of the keys that end in it.
	ByName map[string][]int
	// sections are the paths that have keys below them.
	sections map[string]bool
	// Names lists the last steps of the paths in each section, without patterns.
	Names map[string][]string
}

// keysOf returns a function that builds the table of keys on its first call.
func keysOf(keys func() []Key) func() *KeyTable {
	return sync.OnceValue(func() *KeyTable { return newKeyTable(keys()) })
}

func newKeyTable(keys []Key) *KeyTable {
	t := &KeyTable{All: keys, bySetting: map[string][]*Key{}, ByName: map[string][]int{}, sections: map[string]bool{}, Names: map[string][]string{}}
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
func (t *KeyTable) add(i int, path string) {
	section, name := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		section, name = path[:dot], path[dot+1:]
	}
	t.ByName[name] = append(t.ByName[name], i)
	if !strings.Contains(path, "*") {
		t.Names[section] = append(t.Names[section], name)
	}
	for section != "" && !t.sections[section] {
		t.sections[section] = true
		section = section[:max(strings.LastIndexByte(section, '.'), 0)]
	}
}
