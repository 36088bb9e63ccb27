// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/config/systems"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/spelling"
)

// binder puts values into a command: in place of {batch}; else as an option of its script, or as an override if the
// script uses Hydra; else in a copy of a file that the command names.
type binder struct {
	files   userFiles
	launch  run.Launch
	configs []string // files that hold the settings; nil: the files that the command names
	batch   *string  // the text of the batch script that the command submits; nil if it runs here
}

// bind returns the command with the values inserted. Copies of files are written to folder.
func (b binder) bind(want setup.Values, folder string) (*command, error) {
	c := &command{files: b.files, args: slices.Clone(b.launch.Args), env: slices.Clone(b.launch.Env)}
	if b.batch != nil {
		c.batch, c.filled = *b.batch, want
	}
	var unplaced setup.Values
	for _, v := range want {
		if !c.fill(v.Setting, v.Value) {
			unplaced = append(unplaced, v)
		}
	}
	c.shown = slices.Clone(c.args)
	c.keepProbeFirst(min(b.launch.Program, len(c.args)), folder)
	if len(unplaced) > 0 {
		if err := b.bindSettings(c, unplaced, folder); err != nil {
			return c, err
		}
	}
	return c, b.writeBatch(c, folder)
}

// bindSettings inserts values without a placeholder into the script's options or the command's config files.
func (b binder) bindSettings(c *command, want setup.Values, folder string) error {
	names := want.Names()
	for _, name := range names {
		if !isSetting(name) {
			return fmt.Errorf("the command has no {%s}, and %[1]s is not a setting of config files%s", name,
				spelling.Hint(name, []string{"batch", "seq", "positives", "negatives"}, "put {"+name+"} where its value goes, or vary batch"))
		}
		if err := c.checkNotGiven(name); err != nil {
			return err
		}
	}
	project, err := b.project(c.args, names...)
	if err != nil {
		return noPlace(names[0], err)
	}
	edits, err := edits(project, want)
	if err != nil {
		return err
	}
	return b.apply(c, project, edits, folder)
}

func isSetting(name string) bool {
	return slices.ContainsFunc(systems.Settings(), func(s systems.Setting) bool { return s.Name == name })
}

// noPlace returns the error for a setting that has neither a placeholder nor a place in config files.
func noPlace(name string, err error) error {
	switch {
	case errors.Is(err, projects.ErrNothing):
		return fmt.Errorf("the command has no {%s}, and no config file here contains the %[1]s; put {%[1]s} where its value goes, or name the file with --config-path", name)
	case errors.Is(err, projects.ErrSeveral):
		return fmt.Errorf("the command has no {%s}, and %w, or put {%[1]s} where its value goes", name, err)
	}
	return fmt.Errorf("the command has no {%s}, and %w", name, err)
}

// edits returns the edits that give a project's settings new values.
func edits(project *config.Project, want setup.Values) ([]change.Edit, error) {
	names := want.Names()
	plan, err := project.Change(want)
	if missing := slices.IndexFunc(names, func(n string) bool { return project.Value(n) == nil }); err != nil && missing >= 0 {
		return nil, fmt.Errorf("the command has no {%s}, and no file contains the %[1]s; put {%[1]s} where its value goes", names[missing])
	}
	if err != nil {
		return nil, fmt.Errorf("the command has no {%s}, and %w", names[0], err)
	}
	for _, name := range names {
		if len(plan.Edits) == 0 && project.Value(name) != want.Get(name) {
			return nil, fmt.Errorf("the command has no {%s}, and the %[1]s here cannot be changed; put {%[1]s} where its value goes", name)
		}
	}
	return plan.Edits, nil
}

// apply makes the edits, either as options or overrides in the command or in copies of files.
func (b binder) apply(c *command, project *config.Project, edits []change.Edit, folder string) error {
	copies := map[string]*doc.Document{}
	script := b.script(c.args)
	_, takesOverrides := b.hydraMain(c.args)
	for _, e := range edits {
		name := settingAt(project, e)
		if option := optionAt(e.Path); e.File == script && option != "" {
			if err := c.addOption(script, name, option, e.Value); err != nil {
				return err
			}
			continue
		}
		override := project.Override(e)
		if takesOverrides && override != "" {
			c.addOverride(name, override, e.File)
			continue
		}
		if override != "" && project.IsHydra() && !c.names(e.File) {
			key, _, _ := strings.Cut(override, "=")
			return fmt.Errorf("%s contains the %s, but the command does not name that file; if Hydra reads it, write %s={%s} into the command", e.File, name, key, name)
		}
		d, err := b.edit(copies[e.File], e)
		if err != nil {
			return err
		}
		copies[e.File] = d
		c.placements = append(c.placements, fmt.Sprintf("%s: %s in a copy of %s", name, strings.Join(e.Path, "."), e.File))
	}
	return b.useCopies(c, copies, folder)
}

// settingAt returns the setting that an edit changes.
func settingAt(project *config.Project, e change.Edit) string {
	for _, b := range project.Bindings {
		if b.File == e.File && b.Path.Equal(e.Path) {
			return b.Setting
		}
	}
	return e.Path[len(e.Path)-1]
}

// optionAt returns the script option whose default is at a path, or "". An option that occurs twice has a number
// appended.
func optionAt(p doc.Path) string {
	option, _, _ := strings.Cut(p[len(p)-1], "#")
	if !strings.HasPrefix(option, "-") {
		return ""
	}
	return option
}
