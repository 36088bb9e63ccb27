// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config"
	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/files"
	"snug/internal/pattern"
	"snug/internal/spelling"
)

// bind puts settings that the command has no place for where the script or the
// config files of the command keep them.
func (p *profiling) bind(c *placed, want map[string]any, folder string) error {
	names := slices.Sorted(maps.Keys(want))
	for _, name := range names {
		if !isSetting(name) {
			return fmt.Errorf("the command has no {%s}, and %[1]s is no setting of config files%s", name,
				spelling.Hint(name, []string{"batch", "seq", "positives", "negatives"}, "put {"+name+"} where its value goes, or vary batch"))
		}
		if err := c.unsaid(name); err != nil {
			return err
		}
	}
	project, err := p.project(c.words, names...)
	switch {
	case errors.Is(err, config.ErrNothing):
		return fmt.Errorf("the command has no {%s}, and no config file here says the %[1]s; put {%[1]s} where its value goes, or name the file with --config-path", names[0])
	case errors.Is(err, config.ErrSeveral):
		return fmt.Errorf("the command has no {%s}, and %w, or put {%[1]s} where its value goes", names[0], err)
	case err != nil:
		return fmt.Errorf("the command has no {%s}, and %w", names[0], err)
	}
	plan, err := project.Change(want)
	if unsaid := slices.IndexFunc(names, func(n string) bool { return project.Value(n) == nil }); err != nil && unsaid >= 0 {
		return fmt.Errorf("the command has no {%s}, and no file says the %[1]s; put {%[1]s} where its value goes", names[unsaid])
	}
	if err != nil {
		return fmt.Errorf("the command has no {%s}, and %w", names[0], err)
	}
	for _, name := range names {
		if len(plan.Edits) == 0 && project.Value(name) != want[name] {
			return fmt.Errorf("the command has no {%s}, and what says the %[1]s here cannot be changed; put {%[1]s} where its value goes", name)
		}
	}
	return p.carryOut(c, project, plan.Edits, folder)
}

func isSetting(name string) bool {
	return slices.ContainsFunc(config.Settings(), func(s config.Setting) bool { return s.Name == name })
}

// carryOut makes the edits, in the command or in copies.
func (p *profiling) carryOut(c *placed, project *config.Project, edits []change.Edit, folder string) error {
	copies := map[string]*doc.Document{}
	script := p.script(c.words)
	_, takesOverrides := p.hydraMain(c.words)
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
			return fmt.Errorf("%s holds the %s, but the command does not name that file; if Hydra reads it, write %s={%s} into the command", e.File, name, key, name)
		}
		d, err := edited(copies[e.File], e)
		if err != nil {
			return err
		}
		copies[e.File] = d
		c.where = append(c.where, fmt.Sprintf("%s: %s in a copy of %s", name, strings.Join(e.Path, "."), e.File))
	}
	for _, file := range slices.Sorted(maps.Keys(copies)) {
		if err := p.substitute(c, file, copies[file], folder); err != nil {
			return err
		}
		if file == script { // what it imports from beside it is still found
			c.env = append(c.env, "PYTHONPATH="+absolute(filepath.Dir(file)))
		}
	}
	return nil
}

// substitute has the command read a changed file instead of the user's.
func (p *profiling) substitute(c *placed, file string, d *doc.Document, folder string) error {
	if d.Format() == doc.Shell {
		if ran, err := c.runText(p.launch.Program, file, d.Bytes()); ran || err != nil {
			return err
		}
	}
	data := d.Bytes()
	if d.Format() == doc.Python {
		data = standing(data, absolute(file))
	}
	return c.writeCopy(file, data, folder)
}

// ownPath is where a Python file stands, as it asks itself.
var ownPath = pattern.New(`\b__file__\b`)

// standing is a Python file that finds what is beside it from wherever it runs.
func standing(text []byte, path string) []byte {
	return ownPath.Regexp().ReplaceAllLiteral(text, []byte(strconv.Quote(path)))
}

// settingAt is the setting that an edit changes.
func settingAt(project *config.Project, e change.Edit) string {
	for _, b := range project.Bindings {
		if b.File == e.File && b.Path.Equal(e.Path) {
			return b.Setting
		}
	}
	return e.Path[len(e.Path)-1]
}

// optionAt is the option of a script whose default stands at a path, "" where
// something else does. One that is there twice has a number.
func optionAt(p doc.Path) string {
	option, _, _ := strings.Cut(p[len(p)-1], "#")
	if !strings.HasPrefix(option, "-") {
		return ""
	}
	return option
}

// edited is a file, as far as it is changed already, with one more edit.
func edited(d *doc.Document, e change.Edit) (*doc.Document, error) {
	if d == nil {
		data, err := files.Read(e.File, mostScript)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.File, reason(err))
		}
		if d, err = doc.Open(e.File, data); err != nil {
			return nil, err
		}
	}
	return e.On(d)
}

// writeCopy writes a changed copy of a file and has the command read that one.
func (c *placed) writeCopy(file string, data []byte, folder string) error {
	folder = filepath.Join(folder, "files")
	copied := filepath.Join(folder, filepath.Base(file))
	if !c.useCopy(file, copied) {
		name, _, _ := strings.Cut(c.where[0], ":")
		return fmt.Errorf("%s holds the %s, but the command does not name that file; write {%s} into the command instead", file, name, name)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("copying %s: %w", file, reason(err))
	}
	mode := os.FileMode(0o600)
	if isProgram(file) {
		mode = 0o700
	}
	if err := os.WriteFile(copied, data, mode); err != nil {
		return fmt.Errorf("copying %s: %w", file, reason(err))
	}
	return nil
}
