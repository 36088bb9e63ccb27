// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"
	"strings"

	"snug/internal/config/projects"
)

// A file that another file names may be missing, because it is part of the trainer's repository or the name
// is wrong. Its values are then not counted, and a warning tells the user. For DeepSpeed, the usual file
// names contain the stage (ds_z3_offload_config.json, zero2.json), which matters more than anything else in
// the file.

// missingFiles returns warnings about settings that are unknown because a file is missing.
func (r *Run) missingFiles(run map[string]any) []string {
	var out []string
	dist, _ := run["dist"].(map[string]any)
	kindOfRun, _ := dist["kind"].(string)
	for _, b := range r.AbsentFiles {
		name, _ := b.Value.(string)
		kind, _ := r.Value("dist.kind").(string)
		stage := projects.StageInName.Find(path.Base(name))
		switch {
		case b.NamesDeepSpeed() && stage != nil:
			out = append(out, fmt.Sprintf("%s: %s does not exist; only the DeepSpeed stage that its name suggests, %s, is counted", b.Where(), name, stage[1]))
		case b.NamesDeepSpeed() && kind == "" && strings.HasPrefix(kindOfRun, "zero"):
		case b.NamesDeepSpeed():
			out = append(out, fmt.Sprintf("%s: %s does not exist, so it is not counted; describe it with --dist zero2 or zero3 and --gpus N", b.Where(), name))
		default:
			out = append(out, fmt.Sprintf("%s: %s does not exist, so it is not counted", b.Where(), name))
		}
	}
	if r.Value("dist.kind") == nil && !strings.HasPrefix(kindOfRun, "zero") {
		out = append(out, r.computedLinks()...)
	}
	return out
}

// computedLinks returns warnings about DeepSpeed configs that are determined only at run time.
func (r *Run) computedLinks() []string {
	var out []string
	for _, b := range r.BindingsOf("link") {
		if b.NamesDeepSpeed() && b.Value == nil && (projects.IsComputed(b.Place.Value) || b.Place.Computed != "") {
			out = append(out, fmt.Sprintf("%s: %s is %s, which is computed at run time; it is not counted; describe it with --dist zero2 or zero3 and --gpus N",
				b.Where(), b.Path, shortened(b.Text)))
		}
	}
	return out
}
