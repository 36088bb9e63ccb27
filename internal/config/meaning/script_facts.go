// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/setup"
)

// If a file does not set something, the default in its system's table applies. A script that passes flags
// is not a system: the program that it starts decides which defaults apply.

// scriptType returns the type that a Python script loads its model in, or "" if it specifies none.
func (r *Run) scriptType() string {
	if r.Primary == nil || r.Primary.System.For == nil {
		return ""
	}
	switch named := r.Primary.ModelType(); {
	case named != "":
		return systems.TorchType(named)
	case r.Primary.System.TakesModel && r.scriptModel().ByScript && !strings.HasPrefix(r.transformers, "4."):
		return setup.Saved // SFTTrainer gets a loaded model
	}
	return ""
}

// adaptersMadeAt returns the line of a Python script that adds PEFT's adapters to its model, or 0 if there is
// none.
func (r *Run) adaptersMadeAt() int {
	if r.Primary == nil || !r.Primary.System.ByName || r.adapts() {
		return 0
	}
	d := r.Primary.Tree.Layers[0].Doc
	if d.Format() != doc.Python {
		return 0
	}
	return setup.AdaptersMadeAt(d.Text())
}

// uncountedAdapters returns the note that a script's adapters are not counted. There is no note if the script is
// followed, because its adapters are then counted if they are used.
func (r *Run) uncountedAdapters(run map[string]any) []string {
	line := r.adaptersMadeAt()
	if line == 0 || run["lora"] != nil {
		return nil
	}
	if loop := r.programLoop(); loop != "" && loop == run["loop"] && run["dist"] == nil {
		return nil
	}
	return []string{setup.UncountedAdapters(fmt.Sprintf("%s:%d", r.Primary.File, line))}
}

// unknownDefaults returns the note that a script starts a program whose defaults are unknown.
func (r *Run) unknownDefaults() []string {
	if r.Primary == nil || r.Primary.System.Commands == nil || r.Trainer().Commands == nil && !r.Trainer().UnknownDefaults {
		return nil
	}
	d := r.Primary.Tree.Layers[0].Doc
	at := r.Primary.System.Commands.OwnDefaults.Index(d.Text())
	if at == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s has its own defaults, which snug does not know; give --precision, --checkpointing, --optimizer",
		r.Primary.LineOf(d, at[2]), projects.Submatch(d, at, 1))}
}
