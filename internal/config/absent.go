// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/pattern"
)

// A file that another names may not be here: it belongs to a checkout of the
// trainer, or the name is wrong. What it says is not counted then, and that is said.
// Of DeepSpeed's the names that trainers ship tell the stage (ds_z3_offload_config.json,
// zero2.json), which decides more than all the rest.

// stageInName is the stage in the name of a DeepSpeed file.
var stageInName = pattern.New(`(?i)(?:\bz|_z|zero|stage)[_-]?([0-3])(?:[^0-9]|$)`)

// absent remembers a file that is not there, and takes the stage from its name.
func (p *Project) absent(b bound, name string) {
	p.gone = append(p.gone, b)
	stage := stageInName.Find(path.Base(name))
	if !b.namesDeepSpeed() || stage == nil {
		return
	}
	kind, _ := meaning(zeroStages, stage[1])
	b.Setting, b.Value = "dist.kind", kind
	p.bind(b)
}

// namesDeepSpeed is whether a key is for DeepSpeed's files.
func (b bound) namesDeepSpeed() bool { return strings.Contains(b.key.Path, "deepspeed") }

// namesFile is whether the value of a key is a file.
func (b bound) namesFile(name string) bool {
	return len(b.key.Endings) == 0 || slices.Contains(b.key.Endings, path.Ext(name))
}

// unread is what is not known for want of a file.
func (p *Project) unread(run map[string]any) []string {
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
func (p *Project) made() []string {
	var out []string
	for _, b := range p.of("link") {
		if b.namesDeepSpeed() && b.Value == nil && (worked(b.place.value) || b.place.computed != "") {
			out = append(out, fmt.Sprintf("%s: %s is %s, which only the run works out, and nothing of it is counted; say what it does with --dist zero2 or zero3 and --gpus N",
				b.where(), b.Path, short(b.Text)))
		}
	}
	return out
}
