// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"cmp"
	"fmt"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
)

// insert plans a new key, in the main file.
func (c *planner) insert(setting string, v any) error {
	p := c.project
	if in := trainerCall(p); in != nil && c.insertArgument(in, setting, v) {
		return nil
	}
	if c.insertFlag(setting, v) {
		return nil
	}
	if p.Primary == nil || p.Primary.System.ByName {
		text := p.Spell(setting, v)
		if of := p.BindingsOf(setting); len(of) > 0 && p.Primary != nil {
			return fmt.Errorf("%s: %s cannot be set to %s; write %s yourself", of[0].Where(), of[0].Path, v, cmp.Or(text, "it there"))
		}
		if beside := c.trainerFlag(); beside != nil && text != "" && !c.takesFlag(p.Primary, strings.Fields(text)[0], beside[0]) {
			name, _ := c.program(p.Primary)
			return fmt.Errorf("%s does not set %s, and %s declares no flag for it; add %s to both, or bind it in snug.yaml", p.Primary.File, setting, name, text)
		}
		if text != "" {
			return fmt.Errorf("%s does not set %s; add %s there, or bind it in snug.yaml", p.Primary.File, setting, text)
		}
		if p.Own != nil && p.Own.Set[setting] != nil {
			return fmt.Errorf("%s is in the section set of %s, which snug does not change; edit it there, or bind it to a file (%[1]s: file#path.to.key)", setting, projects.SnugFile)
		}
		return fmt.Errorf("no file sets %s; bind it in snug.yaml (%s: file#path.to.key) or add it by hand", setting, setting)
	}
	for _, k := range p.Primary.System.ForSetting(setting) {
		if k.WithinDeepSpeed() || !p.Primary.Counts(k) {
			continue
		}
		if p.Removed(p.Primary, k.Path) {
			return fmt.Errorf("a flag of the script sets %s to null; change it there", k.Path)
		}
		at := insertionPath(p.Primary, k)
		if _, says := systems.Spelling(k.Words, fmt.Sprint(v), ""); at == "" || strings.Contains(at, "*") || k.Means != "" && k.Means != v || k.Kind == systems.Word && !says {
			continue
		}
		file, err := k.Write(v, doc.Value{}, p.World())
		if err != nil || file == systems.Unchanged {
			continue
		}
		path, err := doc.ParsePath(at)
		if err != nil || !insertable(p.Primary, path) {
			continue
		}
		if k.Needs != "" && !p.Primary.Tree.Has(doc.Path{k.Needs}) {
			continue
		}
		if k.Remark != "" {
			c.note("%s %s", k.Path, k.Remark)
		}
		l := p.Primary.Tree.Nearest(path)
		c.edits = append(c.edits, plannedEdit{change.Edit{File: l.File, Path: path[len(l.Mount):], Value: file, Insert: true}, p.Primary})
		return nil
	}
	return fmt.Errorf("%s (%s) has no key for %s %v", p.Primary.File, p.Primary.System.Title, setting, v)
}

// insertionPath returns where a key would be inserted. A key that may be in any section goes next to existing
// keys of its kind.
func insertionPath(s *projects.Source, k *systems.Key) string {
	name, anywhere := strings.CutPrefix(k.Path, "**.")
	if !anywhere || strings.Contains(name, ".") {
		return k.Path
	}
	for _, other := range s.System.Keys().All {
		if !strings.HasPrefix(other.Path, "**.") {
			continue
		}
		for _, p := range s.Tree.Expand(other.Path) {
			return p[:len(p)-1].Join(name).String()
		}
	}
	return k.Path
}

// trainerCall returns the path of a Python script's call of TrainingArguments, if it has keyword arguments;
// otherwise nil.
func trainerCall(p *meaning.Run) doc.Path {
	if p.Primary == nil || p.Primary.System.For == nil {
		return nil
	}
	for _, b := range p.BindingsOf("batch") {
		if n := len(b.Path); b.File == p.Primary.File && n > 1 && b.Path[n-1] == systems.TrainerBatch {
			return b.Path[:n-1]
		}
	}
	return nil
}

// insertArgument plans a new argument of TrainingArguments, and reports whether TrainingArguments has one for the
// value.
func (c *planner) insertArgument(call doc.Path, setting string, v any) bool {
	main := c.project.Primary
	for _, k := range main.System.Arguments() {
		if k.Setting != setting || k.OfModel || k.WithinDeepSpeed() || k.Means != "" && k.Means != v {
			continue
		}
		file, err := k.Write(v, doc.Value{}, 1)
		if err != nil || file == systems.Unchanged {
			continue
		}
		at := call.Join(k.Path)
		if _, err := main.Tree.Layers[0].Doc.Insert(at, file); err != nil {
			continue
		}
		c.edits = append(c.edits, plannedEdit{change.Edit{File: main.File, Path: at, Value: file, Insert: true}, main})
		return true
	}
	return false
}

// insertable reports whether the section for a key exists, or the key belongs at the top level.
func insertable(s *projects.Source, path doc.Path) bool {
	return len(path) == 1 || s.Tree.Has(path[:1]) || s.System.MakesSections
}
