// SPDX-License-Identifier: Apache-2.0

package config

import "cmp"

// system is whose defaults hold where no file says a setting.
func (p *Found) system() *Adapter {
	if p.main != nil {
		return p.main.system()
	}
	for _, b := range p.of("batch") { // all settings are bound in snug.yaml
		a := recognise(b.source.tree)
		if a != nil && passesFlags(a, b.source.tree) {
			a = a.Commands.Trainer
		}
		if a != nil && a.HoldsWhenBound {
			return a
		}
	}
	return &nobody
}

// findSystem is the one that reads a source: its own, or the one that its flags are
// for.
func (s *source) findSystem() *Adapter {
	if c := s.adapter.Commands; c != nil {
		for _, known := range c.Starts {
			if known.Text.In(s.tree.layers[0].doc.Text()) {
				return known.Trainer
			}
		}
		switch {
		case s.program != nil:
			return s.program
		case passesFlags(s.adapter, s.tree):
			return c.Trainer
		}
	}
	return cmp.Or(s.adapter.For, s.adapter)
}

// passesFlags tells whether a script passes the flags of a trainer to a program that is
// most likely around it. Other flags are everybody's.
func passesFlags(a *Adapter, t tree) bool {
	if a.Commands == nil || a.Commands.OwnDefaults.In(t.layers[0].doc.Text()) {
		return false
	}
	for _, v := range t.index().named(a.Commands.Flag) {
		if len(v.parts) == 1 {
			return true
		}
	}
	return false
}
