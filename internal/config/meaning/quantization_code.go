// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"snug/internal/config/doc"
	"snug/internal/config/systems"
	"snug/internal/pattern"
)

// What a script does with quantized weights, according to its text.

// checkpointsInCode reports whether the script turns checkpointing on, by prepare_model_for_kbit_training.
func (r *Run) checkpointsInCode() bool {
	return r.prepares() && !preparesAlone.In(r.Primary.Tree.Layers[0].Doc.Text())
}

var preparesAlone = pattern.New(`\bprepare_model_for_kbit_training\((?:[^()]|\([^()]*\))*use_gradient_checkpointing\s*=\s*False`,
	"prepare_model_for_kbit_training(")

// prepares reports whether a script casts to float32 what is not quantized.
func (r *Run) prepares() bool {
	return r.inCode() && prepares.In(r.Primary.Tree.Layers[0].Doc.Text())
}

var prepares = pattern.New(`(?m)^[^#\n]*\bprepare_model_for_kbit_training\(`, "prepare_model_for_kbit_training(")

// inCode reports whether the project's main file is a Python script.
func (r *Run) inCode() bool {
	return r.Primary != nil && r.Primary.Tree.Layers[0].Doc.Format() == doc.Python
}

// computeInCode returns the type of products that a script names, directly or by a variable; "" if it
// names none.
func (r *Run) computeInCode() string {
	text := r.Primary.Tree.Layers[0].Doc.Text()
	found := computeArgument.Find(text)
	if found == nil {
		return ""
	}
	if named := systems.ComputeType(found[1]); named != "" {
		return named
	}
	named := pattern.New(`(?m)^[^#\n]*\b`+found[1]+`\s*(?::[^=\n]*)?=\s*(?:torch\.|getattr\(\s*torch\s*,\s*)?["']?((?:b?float)[0-9]+)`, found[1]).Find(text)
	if named == nil {
		return ""
	}
	return systems.ComputeType(named[1])
}

var computeArgument = pattern.New(`\bbnb_4bit_compute_dtype\s*=\s*(?:torch\.|["'])?(\w+)`, "bnb_4bit_compute_dtype")
