// SPDX-License-Identifier: Apache-2.0

package config

import (
	"path"
	"slices"
	"snug/internal/pattern"
	"strings"
)

// stageInName is the stage in the name of a DeepSpeed file.
var stageInName = pattern.New(`(?i)(?:\bz|_z|zero|stage)[_-]?([0-3])(?:[^0-9]|$)`)

// absent remembers a file that is not there, and takes the stage from its name.
func (p *Found) absent(b bound, name string) {
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
