// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"sync"
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

	// What is asked again and again is worked out once.
	bind   func() ([]bound, error) // the settings
	system func() *Adapter         // the one that reads it
	loads  func() loading          // the model that a script loads
	dtype  func() string           // and the type that it names for it
}

func newSource(file string, a *Adapter, t tree) *source {
	s := &source{file: file, adapter: a, tree: t}
	s.bind = sync.OnceValues(s.findSettings)
	s.system = sync.OnceValue(s.findSystem)
	s.loads = sync.OnceValue(s.findModel)
	s.dtype = sync.OnceValue(s.findType)
	return s
}

// recognise finds the system that a tree of one document follows: the first
// adapter that sees its signs. Nil means that nobody knows it.
func recognise(t tree) *Adapter {
	d := t.layers[0].doc
	for _, a := range Adapters() {
		if slices.Contains(a.Formats, d.Format()) && (a.Makes == nil || a.Makes.In(d.Text())) && matches(a, t) {
			return a
		}
	}
	return nil
}

// matches says whether a tree shows the signs of a system.
func matches(a *Adapter, t tree) bool {
	if a.ByName {
		return len(candidates(a, t)) > 0
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
