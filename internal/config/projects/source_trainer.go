// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"cmp"

	"snug/internal/config/systems"
	"snug/internal/config/tree"
)

// Trainer returns the system whose defaults apply to settings that no file contains.
func (p *Found) Trainer() *systems.System {
	if p.Primary != nil {
		return p.Primary.Trainer()
	}
	for _, b := range p.BindingsOf("batch") { // all settings are bound in snug.yaml
		a := recognize(b.Source.Tree)
		if a != nil && passesFlags(a, b.Source.Tree) {
			a = a.Commands.Trainer
		}
		if a != nil && a.HoldsWhenBound {
			return a
		}
	}
	return systems.UnknownProgram()
}

// findTrainer returns the trainer that reads a source: its own system, or the one that its flags are for.
func (s *Source) findTrainer() *systems.System {
	if c := s.System.Commands; c != nil {
		for _, known := range c.Starts {
			if known.Text.In(s.Tree.Layers[0].Doc.Text()) {
				return known.Trainer
			}
		}
		switch {
		case s.program != nil:
			return s.program
		case passesFlags(s.System, s.Tree):
			return c.Trainer
		}
	}
	return cmp.Or(s.System.For, s.System)
}

// passesFlags reports whether a script passes flags that only one trainer has to a program that probably uses
// that trainer.
func passesFlags(a *systems.System, t tree.Tree) bool {
	if a.Commands == nil || a.Commands.OwnDefaults.In(t.Layers[0].Doc.Text()) {
		return false
	}
	for _, v := range t.Index().Named(a.Commands.Flag) {
		if len(v.Parts) == 1 {
			return true
		}
	}
	return false
}

// RunsOwnProgram reports whether a shell script passes its flags to a program in the folder, which may have flags
// besides its trainer's.
func (s *Source) RunsOwnProgram() bool { return s.program != nil }
