// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"

	"snug/internal/config/doc"
)

// What a script does with packed weights, as its text says.

// checkpointsInCode tells whether prepare_model_for_kbit_training does so.
func (p *Project) checkpointsInCode() bool {
	return p.raises() && !preparesAlone.Match(p.main.tree.layers[0].doc.Bytes())
}

var preparesAlone = regexp.MustCompile(`\bprepare_model_for_kbit_training\((?:[^()]|\([^()]*\))*use_gradient_checkpointing\s*=\s*False`)

// raises tells whether a script raises what is not packed.
func (p *Project) raises() bool {
	return p.inCode() && prepares.Match(p.main.tree.layers[0].doc.Bytes())
}

var prepares = regexp.MustCompile(`(?m)^[^#\n]*\bprepare_model_for_kbit_training\(`)

// inCode tells whether the project's main file is a Python script.
func (p *Project) inCode() bool {
	return p.main != nil && p.main.tree.layers[0].doc.Format() == doc.Python
}

// computeInCode is the type that a script names, itself or by a variable.
func (p *Project) computeInCode() string {
	text := p.main.tree.layers[0].doc.Bytes()
	found := computeArgument.FindSubmatch(text)
	if found == nil {
		return ""
	}
	if means, ok := meaning(computeTypes, string(found[1])); ok {
		return means
	}
	named := regexp.MustCompile(`(?m)^[^#\n]*\b` + regexp.QuoteMeta(string(found[1])) + `\s*(?::[^=\n]*)?=\s*(?:torch\.|getattr\(\s*torch\s*,\s*)?["']?((?:b?float)[0-9]+)`).FindSubmatch(text)
	if named == nil {
		return ""
	}
	means, _ := meaning(computeTypes, string(named[1]))
	return means
}

var computeArgument = regexp.MustCompile(`\bbnb_4bit_compute_dtype\s*=\s*(?:torch\.|["'])?(\w+)`)
