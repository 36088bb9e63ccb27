// SPDX-License-Identifier: Apache-2.0

package projects

import (
	"path"
	"slices"
	"strings"

	"snug/internal/config/systems"
	"snug/internal/pattern"
)

// StageInName matches the stage in the name of a DeepSpeed file.
var StageInName = pattern.New(`(?i)(?:\bz|_z|zero|stage)[_-]?([0-3])(?:[^0-9]|$)`)

// noteAbsent records a missing file. For a DeepSpeed file it takes the stage from the name.
func (p *Found) noteAbsent(b Bound, name string) {
	p.AbsentFiles = append(p.AbsentFiles, b)
	stage := StageInName.Find(path.Base(name))
	if !b.NamesDeepSpeed() || stage == nil {
		return
	}
	b.Setting, b.Value = "dist.kind", systems.ZeroStage(stage[1])
	p.bind(b)
}

// preset binds the settings of a config that a trainer ships, and reports whether name is such a preset.
func (p *Found) preset(b Bound, name string) bool {
	kind, known := systems.Meaning(b.Key.Presets, name)
	if known {
		b.Setting, b.Value = "dist.kind", kind
		p.bind(b)
	}
	return known
}

// NamesDeepSpeed reports whether a key names a DeepSpeed config.
func (b Bound) NamesDeepSpeed() bool { return strings.Contains(b.Key.Path, "deepspeed") }

// namesFile reports whether a key names a file and name could be one.
func (b Bound) namesFile(name string) bool {
	return len(b.Key.Endings) == 0 || slices.Contains(b.Key.Endings, path.Ext(name))
}
