// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"path"
	"strings"

	"snug/internal/config/projects"
)

// A file that another names may not be here: it belongs to a checkout of the trainer, or the name is
// wrong. Then its values are not counted, and the user is told. For DeepSpeed, the names that trainers
// ship show the stage (ds_z3_offload_config.json, zero2.json), which matters more than everything else in
// the file.

// missingFiles returns warnings about what is not known because a file is missing.
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

// computedLinks returns warnings about configs of DeepSpeed that only the run itself makes or finds.
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
