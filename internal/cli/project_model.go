// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"

	"snug/internal/setup"
)

// beneath returns the fields of files that flags then override. It omits fields that depend on one that the flags replace:
// with another model, for example, the script's loop. The notes say what that means for the figures.
func beneath(files, over map[string]any) (out map[string]any, notes []string) {
	out = maps.Clone(files)
	if text, _ := over["lengths"].(string); text != "" && !setup.AreSamples(text) {
		delete(out, "seq")
	}
	model, _ := over["model"].(map[string]any)
	if model["profile"] != nil { // the recording already contains their effects
		for _, field := range []string{"lora", "quantization", "loop", "weights", "evaluation"} {
			delete(out, field)
		}
		return out, nil
	}
	theirs, _ := files["model"].(map[string]any)
	if model["name"] == nil && model["config"] == nil || theirs == nil {
		return out, nil
	}
	if model["head"] == nil && theirs["head"] != nil {
		model["head"] = theirs["head"]
	}
	loop, _ := files["loop"].(string)
	name, _ := model["name"].(string)
	if old, _ := theirs["name"].(string); setup.ReadsScript(loop) && over["loop"] == nil && !setup.SameModel(name, old) {
		delete(out, "loop")
		notes = append(notes, fmt.Sprintf("%s loads its own model, so its loop is not used with a different one: the figures assume that each step runs in its own function, and may be too low", setup.ScriptOf(loop)))
	}
	return out, notes
}
