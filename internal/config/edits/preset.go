// SPDX-License-Identifier: Apache-2.0

package edits

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/projects"
)

// finish returns the plan of all collected edits. A shared preset is not edited: the edits go into a copy
// next to the user's config, which then refers to the copy.
func (c *planner) finish() (Plan, error) {
	plan := Plan{}
	copies := map[*projects.Source]bool{}
	for _, e := range c.edits {
		if !belongsToLibrary(e.File) || e.source.Link == nil {
			plan.Edits = append(plan.Edits, e.Edit)
			continue
		}
		if copies[e.source] {
			continue
		}
		copies[e.source] = true
		if err := c.copyPreset(&plan, e.source); err != nil {
			return Plan{}, err
		}
	}
	c.stagesKept()
	slices.Sort(c.notes)
	plan.Notes = slices.Compact(c.notes)
	return plan, nil
}

// belongsToLibrary reports whether a file belongs to a library rather than to the project.
func belongsToLibrary(file string) bool {
	if path.IsAbs(file) || strings.HasPrefix(file, "../") {
		return true
	}
	for part := range strings.SplitSeq(file, "/") {
		switch part {
		case "site-packages", "dist-packages", "examples", "deepspeed_configs":
			return true
		}
	}
	return false
}

// copyPreset plans a copy of a preset with the edits applied, and the edit that refers to the copy.
func (c *planner) copyPreset(plan *Plan, s *projects.Source) error {
	d := s.Tree.Layers[0].Doc
	for _, e := range c.edits {
		if e.source != s {
			continue
		}
		var err error
		if d, err = d.Set(e.Path, e.Value); err != nil {
			return err
		}
	}
	to, err := c.unusedName(path.Join(path.Dir(s.Link.File), path.Base(s.File)))
	if err != nil {
		return err
	}
	plan.Creates = append(plan.Creates, change.Create{File: to, Content: d.Bytes()})
	target := to
	if s.Link.Value != s.File && path.Join(path.Dir(s.Link.File), fmt.Sprint(s.Link.Value)) == s.File {
		target = path.Base(to) // the config names files relative to its own folder
	}
	plan.Edits = append(plan.Edits, change.Edit{File: s.Link.File, Path: s.Link.Path, Value: target})
	c.note("%s is shared, so it was copied to %s, and %s now points there", s.File, to, s.Link.Where())
	return nil
}

// unusedName returns a name that no file has yet.
func (c *planner) unusedName(name string) (string, error) {
	ext := path.Ext(name)
	for n := 1; n < 100; n++ {
		try := name
		if n > 1 {
			try = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
		}
		if _, err := c.project.Files().ReadFile(try); err != nil {
			return try, nil
		}
	}
	return "", fmt.Errorf("there are already many copies of %s; remove some", name)
}
