// SPDX-License-Identifier: Apache-2.0

package config

import (
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
func (p *Run) loadsIn() string {
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

// madeInCode is the line of a Python script that puts PEFT's adapters onto its model,
// 0 where none does.
func (p *Run) madeInCode() int {
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

// unassumed is that a script starts a program whose defaults nobody knows here.
func (p *Run) unassumed() []string {
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
