// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/systems"
)

// People name files, folders and results after what a run does. If a name mentions LoRA or 4 bits but the run has
// neither, the program probably turns them on; a note reports that the figures do not include them.

// methodInName adds a note if the main file, its folder or its results are named after adapters or 4-bit weights that
// are not counted, unless another note already mentions them.
func (r *Run) methodInName(run map[string]any, notes []string) []string {
	if r.Primary == nil {
		return notes
	}
	about := func(words ...string) bool {
		return slices.ContainsFunc(notes, func(n string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(n, w) })
		})
	}
	for where, name := range r.namesOfRun() {
		switch {
		case run["quantization"] == nil && r.quantizing() == nil && systems.NamesBits(name) && !about("quantized"):
			return append(notes, fmt.Sprintf("%s: the name %s suggests 4-bit weights, but nothing else does; weights are counted as unquantized; give --load-in-4bit if they are", where, name))
		case run["lora"] == nil && len(r.BindingsOf("lora")) == 0 && systems.NamesAdapters(name) && !about("adapters") && r.adaptersMadeAt() == 0:
			return append(notes, fmt.Sprintf("%s: the name %s suggests adapters, but nothing else does; none are counted; give --lora-rank N if there are any", where, name))
		}
	}
	return notes
}

// namesOfRun yields the names that people give to a run, with their positions: of its main file, its folder and its
// results.
func (r *Run) namesOfRun() func(func(where, name string) bool) {
	return func(yield func(where, name string) bool) {
		file := r.Primary.File
		for _, name := range []string{path.Base(file), path.Base(path.Dir(file))} {
			if !yield(file, name) {
				return
			}
		}
		for _, s := range r.SourcesRead() {
			for _, v := range s.OwnValues() {
				if slices.Contains(outputNames, v.Parts[len(v.Parts)-1]) && !yield(fmt.Sprintf("%s:%d", s.File, v.Value.Line), path.Base(textOf(v))) {
					return
				}
			}
		}
	}
}
