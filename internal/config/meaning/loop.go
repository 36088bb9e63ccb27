// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"path/filepath"
	"slices"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/setup"
)

// settleLoop fills in the training loop: that of the run's program if it is in the folder, otherwise the
// trainer's known loop.
func (r *Run) settleLoop(out map[string]any) {
	if r.Primary == nil || r.Trainer().OwnModel != nil && !r.Trainer().BuildsModel {
		return
	}
	if loop := r.answersLoop(); loop != "" {
		r.settleAnswers(out, loop)
		return
	}
	model, _ := out["model"].(map[string]any)
	alone := out["dist"] == nil || r.Trainer().LoopOverGPUs
	if loop := r.programLoop(); loop != "" {
		out["loop"] = loop
		if r.computes("accumulation") { // the script shows it
			delete(out, "accumulation")
		}
		if r.followsAnswers() {
			r.settleTRL(out, setup.DPOLoop)
		}
	} else if t := r.Trainer(); alone && slices.Contains(setup.Loops, t.Loop) && model["head"] != "encoder" && (t.LoopLoss == "" || t.LoopLoss == out["loss"]) {
		out["loop"] = t.Loop
	}
}

// programLoop returns the program with its arguments; "" if it is not in the folder.
func (r *Run) programLoop() string {
	if r.Primary.System.OnlyAssigns {
		return ""
	}
	if r.Primary.Tree.Layers[0].Doc.Format() == doc.Python {
		var args []string
		if r.Starter != nil {
			_, args = r.Starter.Program(r.Files())
		}
		return setup.LoopOf(append([]string{filepath.Join(r.Root, r.Primary.File)}, args...))
	}
	if a := r.Primary.System; a.For != nil || a.Commands != nil && !a.OwnProgram {
		return "" // the table describes this program; a copy in the folder or plugins add nothing
	}
	program, args := r.Primary.Program(r.Files())
	if program == "" {
		return ""
	}
	return setup.LoopOf(append([]string{filepath.Join(r.Root, program)}, args...))
}

// computes reports whether the main script sets a setting only to a value that it computes.
func (r *Run) computes(setting string) bool {
	of := r.BindingsOf(setting)
	return r.Primary != nil && r.Primary.Tree.Layers[0].Doc.Format() == doc.Python && len(of) > 0 && !slices.ContainsFunc(of, func(b projects.Bound) bool {
		computed := b.Place.Computed != "" || projects.IsComputed(b.Place.Value)
		return b.Value != nil || !computed || b.File != r.Primary.File
	})
}
