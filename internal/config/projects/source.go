// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"slices"
	"strings"
	"sync"

	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// Source is one configuration that was found: a file, or a tree of them.
type Source struct {
	File   string          // the main file, for messages
	System *systems.System // the system whose keys it has
	Tree   tree.Tree       // its contents
	// Link is the binding that names the file, if any.
	Link *Bound
	// program is the system of the Python program that a shell script starts, if that program is in the folder
	// and its code shows the system.
	program *systems.System
	// rankGiven reports whether the shell script that starts this program sets the rank of its adapters.
	rankGiven bool

	// executed returns the text of a program without the parts that are not executed; nil stands for all of it.
	executed func() string

	// Results that are used repeatedly are computed once.
	Bind      func() ([]Bound, error) // the settings
	Trainer   func() *systems.System  // the trainer that reads the source
	Model     func() LoadedModel      // the model that a script loads
	ModelType func() string           // the type that the model is loaded in
	// OwnValues are the values that affect training: not those for evaluation, nor a shell script's variables. A
	// Python program has none.
	OwnValues func() []tree.Value
	commands  func() []StartedProgram // the programs of a shell script's commands
}

// code returns the executed text of a source.
func (s *Source) code() string {
	if s.executed != nil {
		return s.executed()
	}
	return s.Tree.Layers[0].Doc.Text()
}

// NewSource returns a configuration of the given system.
func NewSource(file string, a *systems.System, t tree.Tree) *Source {
	s := &Source{File: file, System: a, Tree: t}
	s.Bind = sync.OnceValues(s.findSettings)
	s.Trainer = sync.OnceValue(s.findTrainer)
	s.Model = sync.OnceValue(s.findModel)
	s.ModelType = sync.OnceValue(s.findType)
	s.OwnValues = sync.OnceValue(s.findOwnValues)
	s.commands = sync.OnceValue(s.findCommands)
	return s
}

// recognize returns the system of a single-document tree: the first one that matches, or nil.
func recognize(t tree.Tree) *systems.System {
	d := t.Layers[0].Doc
	for _, a := range systems.All() {
		if slices.Contains(a.Formats, d.Format()) && (a.Makes == nil || a.Makes.In(d.Text())) && matches(a, t) {
			return a
		}
	}
	return nil
}

// matches reports whether a tree has the keys that identify a system.
func matches(a *systems.System, t tree.Tree) bool {
	if a.ByName {
		return len(candidates(a, t)) > 0
	}
	if a.Lacks != "" && len(t.Expand(a.Lacks)) > 0 {
		return false
	}
	return slices.ContainsFunc(a.Signs, func(group string) bool {
		for _, sign := range strings.Fields(group) {
			if len(t.Expand(sign)) == 0 {
				return false
			}
		}
		return true
	})
}

// findOwnValues returns the values that affect training.
func (s *Source) findOwnValues() []tree.Value {
	format := s.Tree.Layers[0].Doc.Format()
	if format == doc.Python {
		return nil
	}
	var out []tree.Value
	counts := inCommand(s.System, s.Tree)
	for _, v := range s.Tree.Index().Values {
		if len(v.Path) > 0 && !counts(nil, v.Path) {
			continue
		}
		variable := format == doc.Shell && isVariable(v.Path) && !strings.Contains(v.Path[0], ".")
		if len(v.Parts) > 0 && !variable && !passedOver(v.Parts[:len(v.Parts)-1], false) {
			out = append(out, v)
		}
	}
	return out
}
