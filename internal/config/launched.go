// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// What a file does not say its system takes by default, and the system's table
// knows that. A script that passes flags is no system; whose defaults hold where
// it passes none, the program decides that it starts.

// loadsIn is the type that a Python script names where it loads its model, "" where
// it names none.
func (p *Project) loadsIn() string {
	if p.main == nil || p.main.adapter.For == nil {
		return ""
	}
	switch named := p.main.dtype(); {
	case named != "":
		held, _ := meaning(torchTypes, named)
		return held
	case p.main.adapter.TakesModel && p.loads().inScript && !strings.HasPrefix(p.transformers, "4."):
		return setup.Saved // SFTTrainer is given a model, and loads none
	}
	return ""
}

// findType is the type that a script loads its model in, "" where it names none.
func (s *source) findType() string {
	if found := newDType.Find(s.tree.layers[0].doc.Text()); found != nil {
		return found[1]
	}
	return ""
}

var newDType = pattern.New(`\bfrom_pretrained\((?:[^()]|\([^()]*\))*?[\s,(](?:torch_)?dtype\s*=\s*(?:torch\.|["'])?([a-z0-9]+)`, "from_pretrained(")

// madeInCode is the line of a Python script that puts PEFT's adapters onto its model,
// 0 where none does.
func (p *Project) madeInCode() int {
	if p.main == nil || !p.main.adapter.ByName || p.adapts() {
		return 0
	}
	d := p.main.tree.layers[0].doc
	at := newAdapters.Index(d.Text())
	if at == nil || d.Format() != doc.Python {
		return 0
	}
	return 1 + strings.Count(d.Text()[:at[1]], "\n")
}

var newAdapters = pattern.New(`(?m)^[^#\n]*\b(?:get_peft_model|LoraConfig)\(`, "get_peft_model(", "LoraConfig(")

// system is whose defaults hold where no file says a setting.
func (p *Project) system() *Adapter {
	if p.main != nil {
		return p.main.system()
	}
	for _, b := range p.of("batch") { // all settings are bound in snug.yaml
		a := recognise(b.source.tree)
		if a != nil && a.passesFlags(b.source.tree) {
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
		case s.adapter.passesFlags(s.tree):
			return c.Trainer
		}
	}
	return cmp.Or(s.adapter.For, s.adapter)
}

// unassumed is that a script starts a program whose defaults nobody knows here.
func (p *Project) unassumed() []string {
	if p.main == nil || p.system().Commands == nil {
		return nil
	}
	d := p.main.tree.layers[0].doc
	at := p.system().Commands.OwnDefaults.Index(d.Text())
	if at == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s has defaults of its own: what its flags leave out is not taken from them; give --precision, --checkpointing, --optimizer",
		p.main.lineOf(d, at[2]), group(d, at, 1))}
}

// passesFlags tells whether a script passes the flags of a trainer to a program that is
// most likely around it. Other flags are everybody's.
func (a *Adapter) passesFlags(t tree) bool {
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
