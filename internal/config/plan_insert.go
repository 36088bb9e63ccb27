// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
)

// insert plans a new key, in the main file.
func (c *changing) insert(setting string, v any) error {
	p := c.project
	if in := arguments(p); in != nil && c.argument(in, setting, v) {
		return nil
	}
	if p.main == nil || p.main.adapter.ByName {
		text := p.Spell(setting, v)
		if of := p.of(setting); len(of) > 0 && p.main != nil {
			return fmt.Errorf("%s: %s cannot say %s; write %s yourself", of[0].where(), of[0].Path, v, cmp.Or(text, "it there"))
		}
		if text != "" {
			return fmt.Errorf("%s does not say %s; add %s there, or bind it in snug.yaml", p.main.file, setting, text)
		}
		return fmt.Errorf("no file says %s; bind it in snug.yaml (%s: file#path.to.key) or add it by hand", setting, setting)
	}
	for _, k := range p.main.adapter.forSetting(setting) {
		if k.isDeepSpeeds() {
			continue
		}
		at := spot(p.main, k)
		if _, says := spelled(k.Words, fmt.Sprint(v), ""); at == "" || strings.Contains(at, "*") || k.Means != "" && k.Means != v || k.Kind == Word && !says {
			continue
		}
		file, err := k.write(v, doc.Value{}, p.world())
		if err != nil || file == same {
			continue
		}
		path, err := doc.ParsePath(at)
		if err != nil || !insertable(p.main, path) {
			continue
		}
		if k.Needs != "" && !p.main.tree.has(doc.Path{k.Needs}) {
			continue
		}
		if k.Remark != "" {
			c.note("%s %s", k.Path, k.Remark)
		}
		l := p.main.tree.nearest(path)
		c.edits = append(c.edits, planned{change.Edit{File: l.file, Path: path[len(l.mount):], Value: file, Insert: true}, p.main})
		return nil
	}
	return fmt.Errorf("%s (%s) has no key for %s %v", p.main.file, p.main.adapter.Title, setting, v)
}

// spot is where a key would stand: one that may stand in any section goes to the
// keys of its kind that are there.
func spot(s *source, k *Key) string {
	name, anywhere := strings.CutPrefix(k.Path, "**.")
	if !anywhere || strings.Contains(name, ".") {
		return k.Path
	}
	for _, other := range s.adapter.Keys().all {
		if !strings.HasPrefix(other.Path, "**.") {
			continue
		}
		for _, p := range s.tree.expand(other.Path) {
			return p[:len(p)-1].Join(name).String()
		}
	}
	return k.Path
}

// arguments is the call in a Python script that makes TrainingArguments, where it
// has arguments by name; nil where there is none.
func arguments(p *Run) doc.Path {
	if p.main == nil || p.main.adapter.For == nil {
		return nil
	}
	for _, b := range p.of("batch") {
		if n := len(b.Path); b.File == p.main.file && n > 1 && b.Path[n-1] == trainerBatch {
			return b.Path[:n-1]
		}
	}
	return nil
}

// argument plans a new argument of TrainingArguments, and says whether it has one
// for the value.
func (c *changing) argument(call doc.Path, setting string, v any) bool {
	main := c.project.main
	for _, k := range main.adapter.Arguments() {
		if k.Setting != setting || k.OfModel || k.isDeepSpeeds() || k.Means != "" && k.Means != v {
			continue
		}
		file, err := k.write(v, doc.Value{}, 1)
		if err != nil || file == same {
			continue
		}
		at := call.Join(k.Path)
		if _, err := main.tree.layers[0].doc.Insert(at, file); err != nil {
			continue
		}
		c.edits = append(c.edits, planned{change.Edit{File: main.file, Path: at, Value: file, Insert: true}, main})
		return true
	}
	return false
}

// insertable is whether the section that a key would go into is there, unless
// it is the file itself.
func insertable(s *source, path doc.Path) bool {
	return len(path) == 1 || s.tree.has(path[:1]) || s.adapter.MakesSections
}
