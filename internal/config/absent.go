// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path"
	"strings"
)

// A file that another names may not be here: it belongs to a checkout of the
// trainer, or the name is wrong. What it says is not counted then, and that is said.
// Of DeepSpeed's the names that trainers ship tell the stage (ds_z3_offload_config.json,
// zero2.json), which decides more than all the rest.

// unread is what is not known for want of a file.
func (p *Run) unread(run map[string]any) []string {
	var out []string
	dist, _ := run["dist"].(map[string]any)
	said, _ := dist["kind"].(string)
	for _, b := range p.gone {
		name, _ := b.Value.(string)
		kind, _ := p.Value("dist.kind").(string)
		stage := stageInName.Find(path.Base(name))
		switch {
		case b.namesDeepSpeed() && stage != nil:
			out = append(out, fmt.Sprintf("%s: %s is not there; by its name it is DeepSpeed's stage %s, and whatever else it says is not counted", b.where(), name, stage[1]))
		case b.namesDeepSpeed() && kind == "" && strings.HasPrefix(said, "zero"):
		case b.namesDeepSpeed():
			out = append(out, fmt.Sprintf("%s: %s is not there, and nothing of it is counted; say what it does with --dist zero2 or zero3 and --gpus N", b.where(), name))
		default:
			out = append(out, fmt.Sprintf("%s: %s is not there, and nothing of it is counted", b.where(), name))
		}
	}
	if p.Value("dist.kind") == nil && !strings.HasPrefix(said, "zero") {
		out = append(out, p.made()...)
	}
	return out
}

// made is configs of DeepSpeed's that only the run makes or finds.
func (p *Run) made() []string {
	var out []string
	for _, b := range p.of("link") {
		if b.namesDeepSpeed() && b.Value == nil && (worked(b.place.value) || b.place.computed != "") {
			out = append(out, fmt.Sprintf("%s: %s is %s, which only the run works out, and nothing of it is counted; say what it does with --dist zero2 or zero3 and --gpus N",
				b.where(), b.Path, short(b.Text)))
		}
	}
	return out
}
