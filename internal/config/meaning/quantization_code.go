// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"

	"snug/internal/config/branches"
	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/pattern"
)

// This file finds what a script does with quantized weights, from its source.

// checkpointsInCode reports whether the script turns checkpointing on, with prepare_model_for_kbit_training.
func (r *Run) checkpointsInCode() bool {
	if c := r.preparing(); c != nil {
		return c.Args["use_gradient_checkpointing"] == true || c.Whole && !c.Passed["use_gradient_checkpointing"]
	}
	return r.prepares() && !preparesAlone.In(r.Primary.Tree.Layers[0].Doc.Text())
}

var preparesAlone = pattern.New(`\bprepare_model_for_(?:kbit|int8)_training\((?:[^()]|\([^()]*\))*use_gradient_checkpointing\s*=\s*False`,
	"prepare_model_for_kbit_training(", "prepare_model_for_int8_training(")

// preparesNonReentrant matches a call that turns non-reentrant checkpointing on.
var preparesNonReentrant = pattern.New(`\bprepare_model_for_(?:kbit|int8)_training\((?:[^()]|\([^()]*\))*use_reentrant["']?\s*[:=]\s*False`,
	"prepare_model_for_kbit_training(", "prepare_model_for_int8_training(")

// preparing returns the call by which a script's program prepares its model; nil if there is none, or it may not be executed.
func (r *Run) preparing() *branches.Call {
	for _, c := range slices.Concat(r.Calls("prepare_model_for_kbit_training"), r.Calls("prepare_model_for_int8_training")) { // the second is PEFT's older name
		if !c.Undecided {
			return &c
		}
	}
	return nil
}

// prepares reports whether a script, or its program, casts its unquantized weights to float32.
func (r *Run) prepares() bool {
	return r.preparing() != nil || r.inCode() && prepares.In(r.Primary.Tree.Layers[0].Doc.Text())
}

var prepares = pattern.New(`(?m)^[^#\n]*\bprepare_model_for_(?:kbit|int8)_training\(`, "prepare_model_for_kbit_training(", "prepare_model_for_int8_training(")

// quantizedBySwitch returns the note that a script quantizes weights in a branch that is not taken, or in a way that is
// not understood.
func (r *Run) quantizedBySwitch(run map[string]any) []string {
	if !r.inCode() || run["quantization"] != nil || r.quantizing() != nil {
		return nil
	}
	d := r.Primary.Tree.Layers[0].Doc
	at := quantizes.Index(d.Text())
	if at == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s is in the program, but snug cannot tell whether it is used; weights are counted as unquantized, and checkpointing follows the arguments", r.Primary.LineOf(d, at[2]), projects.Submatch(d, at, 1))}
}

var quantizes = pattern.New(`(?m)^[^#\n]*\b(load_in_[48]bit\s*=\s*True|prepare_model_for_(?:kbit|int8)_training\()`, "load_in_4bit", "load_in_8bit", "prepare_model_for_kbit_training(", "prepare_model_for_int8_training(")

// attendsBySwitch returns a note if a script sets the attention implementation in a branch, or in a call that is not
// read.
func (r *Run) attendsBySwitch(run map[string]any) []string {
	if !r.inCode() || run["attention"] != nil || len(r.BindingsOf("attention")) > 0 {
		return nil
	}
	d := r.Primary.Tree.Layers[0].Doc
	at := attends.Index(d.Text())
	if at == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s is in the program, but snug cannot tell whether it is used; sdpa attention is assumed; choose another with --attention", r.Primary.LineOf(d, at[2]), projects.Submatch(d, at, 1))}
}

var attends = pattern.New(`(?m)^[^#\n]*\b(_?attn_implementation\s*=\s*["'](?:flash_attention_[23]|eager)["']|use_flash_attention_2\s*=\s*True|replace_\w*attn\w*\()`, "attn_implementation", "use_flash_attention_2", "replace_")

// inCode reports whether the project's main file is a Python script.
func (r *Run) inCode() bool {
	return r.Primary != nil && r.Primary.Tree.Layers[0].Doc.Format() == doc.Python
}

// computeInCode returns the compute type that a script names, directly or through a variable; "" if there is
// none.
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
