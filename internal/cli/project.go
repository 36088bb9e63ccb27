// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"snug/internal/config"
	"snug/internal/config/change"
	"snug/internal/config/projects"
	"snug/internal/files"
	"snug/internal/term"
)

// projectFlags are the flags of the commands that read the user's own files.
type projectFlags struct {
	folder string
	paths  []string
	given  string // the command that trains, if it is given and no plain start of a script
	plain  bool   // the given command starts a script with Python itself, not with a launcher
	wanted bool   // the command is about the folder's files, so a model alone is not a separate run
}

func (f *projectFlags) addTo(fs *pflag.FlagSet) {
	fs.StringVar(&f.folder, "dir", ".", "project `folder`")
	fs.StringArrayVar(&f.paths, "config-path", nil, "config `file` to read, if the folder has several; may be repeated")
}

// open reads the project.
func (f *projectFlags) open(env Env) (*config.Project, error) {
	names, err := f.names()
	if err == nil {
		err = env.checkFolder(f.folder)
	}
	if err != nil {
		return nil, err
	}
	if f.given != "" {
		return f.openCommand()
	}
	project, err := config.Open(projectFiles{f.folder}, f.folder, names...)
	if errors.Is(err, projects.ErrSeveral) && len(names) == 0 {
		return f.openDefault(err)
	}
	if errors.Is(err, projects.ErrNothing) && len(names) == 0 {
		return f.openNotebook(project, err)
	}
	return project, err
}

// openCommand reads the run that the given command starts.
func (f *projectFlags) openCommand() (*config.Project, error) {
	project, err := config.OpenCommand(projectFiles{f.folder}, f.folder, f.given)
	if errors.Is(err, projects.ErrNothing) {
		return nil, fmt.Errorf("%s: snug can read nothing about the run in this command; give a setup with --setup, or the script alone with --loop", f.given)
	}
	return project, err
}

// openNotebook opens the only notebook of a folder without configs, if it has the arguments of a known trainer; else it
// returns its arguments.
func (f *projectFlags) openNotebook(project *config.Project, err error) (*config.Project, error) {
	if f.loneScript() != "" {
		return project, err
	}
	name := f.lone(".ipynb")
	if name == "" {
		return project, err
	}
	rel, wrong := filepath.Rel(f.folder, name)
	if wrong != nil {
		return project, err
	}
	found, wrong := config.Open(projectFiles{f.folder}, f.folder, filepath.ToSlash(rel))
	if wrong != nil || found.Primary == nil || found.Trainer().ByName {
		return project, err
	}
	return found, nil
}

// openDefault opens the one of several configs that the folder's script reads by default. It returns err if there is
// none.
func (f *projectFlags) openDefault(err error) (*config.Project, error) {
	script := f.loneScript()
	_, file := f.configOption(script)
	if file == "" {
		return nil, err
	}
	file = path.Clean(file)
	project, wrong := config.Open(projectFiles{f.folder}, f.folder, file)
	if wrong != nil {
		return nil, err
	}
	project.Notes = append(project.Notes, fmt.Sprintf("%s is used, because %s reads it by default; to use another, give --config-path FILE", file, script))
	return project, nil
}

// names returns the named files, relative to the project's folder.
func (f *projectFlags) names() ([]string, error) {
	var out []string
	for _, name := range f.paths {
		if name == "" {
			return nil, fmt.Errorf("--config-path is empty; name a file")
		}
		if filepath.IsAbs(name) {
			inside, err := filepath.Abs(f.folder)
			if err != nil {
				return nil, err
			}
			if rel, err := filepath.Rel(inside, name); err == nil && filepath.IsLocal(rel) {
				name = rel
			}
		}
		out = append(out, path.Clean(filepath.ToSlash(name)))
	}
	return out, nil
}

// store returns the project's folder with its journal.
func (f *projectFlags) store() (*change.Store, error) {
	return change.Open(f.folder, change.Options{})
}

// projectFiles reads files by their names relative to a project.
type projectFiles struct{ folder string }

func (p projectFiles) at(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.folder, filepath.FromSlash(name))
}

// maxScript is larger than any script or config of a training run.
const maxScript = 4 << 20

// ReadFile reads a file in the project.
func (p projectFiles) ReadFile(name string) ([]byte, error) {
	return files.Read(p.at(name), maxScript)
}

// Inside reports whether a file is in the project's folder when all links are followed.
func (p projectFiles) Inside(name string) bool {
	return files.Inside(p.folder, filepath.FromSlash(name))
}

// maxListed limits how many entries of a folder are read: a list of ten million entries alone takes
// gigabytes.
const maxListed = 200_000

// ReadDir lists a folder in the project.
func (p projectFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	return files.ReadDir(p.at(name), maxListed)
}

// bindingsTable lists the settings found, one place per line. On a narrow screen the keys are omitted,
// because the line numbers are enough.
func bindingsTable(p *config.Project, screen term.Screen) []string {
	t := term.Table{Header: []string{"setting", "value", "where", "key"}}
	last := ""
	for _, b := range p.Bindings {
		name := b.Setting
		if name == last {
			name = ""
		}
		last = b.Setting
		t.Rows = append(t.Rows, []string{name, valueText(b), fmt.Sprintf("%s:%d", b.File, b.Line), b.Path.String()})
	}
	widest := 0
	for _, line := range (term.Screen{Width: 1 << 20}).Table(t) {
		widest = max(widest, utf8.RuneCountInString(line))
	}
	if widest > screen.Width {
		t.Header = t.Header[:3]
		for i := range t.Rows {
			t.Rows[i] = t.Rows[i][:3]
		}
	}
	return screen.Table(t)
}

// valueText returns a binding's value, and its spelling in the file if that differs.
func valueText(b projects.Binding) string {
	text := strings.Trim(strings.SplitN(b.Text, "\n", 2)[0], `"'`)
	switch v := b.Value.(type) {
	case nil, []projects.Phase, map[string]any, []string:
		return short(text)
	case string:
		if v == "" {
			return short(text)
		}
		if len(v) > widestValue {
			return "..." + v[len(v)-widestValue+3:] // the end of a model's name is the most specific part
		}
		return v
	default:
		return fmt.Sprint(v)
	}
}

const widestValue = 24

func short(text string) string {
	if len(text) > widestValue {
		return text[:widestValue-3] + "..."
	}
	return text
}
