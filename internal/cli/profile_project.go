// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/doc"
	"snug/internal/files"
)

// project is the config files that the options or else the command name, with
// the script that the command runs where that holds some of the settings; or
// those of the folder. A script that Hydra runs says itself where it starts.
func (p *profiling) project(words []string, settings ...string) (*config.Project, error) {
	here := projectFiles{"."}
	files := p.options.configs
	if main, _ := p.hydraMain(words); len(files) == 0 && main != "" && holdsAny(here, main, settings) {
		files = []string{main}
	}
	if len(files) == 0 {
		files = configsIn(words)
		for _, script := range []string{p.script(words), p.shellScript(words)} {
			if script != "" && holdsAny(here, script, settings) {
				files = append(files, script)
			}
		}
	}
	return config.Open(here, ".", files...)
}

// holdsAny says whether a script, or a tree by its main file, has a value for one
// of some settings.
func holdsAny(here config.Files, file string, settings []string) bool {
	project, err := config.Open(here, ".", file)
	if err != nil {
		return false
	}
	main, _ := project.Main()
	return slices.ContainsFunc(project.Bindings, func(b config.Binding) bool {
		return (b.File == file || main == file && project.IsHydra()) && slices.Contains(settings, b.Setting)
	})
}

// mostScript is more than any script of a training run has.
const mostScript = 4 << 20

// hydraMain is the config that the script of a command has Hydra start from, ""
// where that cannot be told; false where it does not use Hydra.
func (p *profiling) hydraMain(words []string) (file string, ok bool) {
	script := p.script(words)
	text, err := files.Read(script, mostScript)
	if script == "" || err != nil {
		return "", false
	}
	file, ok = config.HydraMain(script, text, words)
	if file = local(file); !isPlainFile(file) {
		file = ""
	}
	return file, ok
}

// configsIn are the config files that a command names.
func configsIn(words []string) []string {
	var out []string
	for _, w := range words {
		value := w[strings.LastIndex(w, "=")+1:]
		switch strings.ToLower(filepath.Ext(value)) {
		case ".yaml", ".yml", ".json", ".toml":
			if file := local(value); isPlainFile(file) {
				out = append(out, file)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// shells are launchers that take a script of their own, whose words mean what
// it makes of them.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "make", "just"}

// script is the Python file that the command runs, as a path from here; "" where
// it names none.
func (p *profiling) script(words []string) string {
	if slices.Contains(shells, p.launch.Launcher) {
		return ""
	}
	for i, w := range words {
		file := ""
		switch {
		case strings.HasSuffix(w, ".py"):
			file = local(w)
		case i > 0 && words[i-1] == "-m":
			file = strings.ReplaceAll(w, ".", "/") + ".py"
		}
		if isPlainFile(file) {
			return file
		}
	}
	return ""
}

// shellScript is the shell script that the command runs; "" where it is none.
func (p *profiling) shellScript(words []string) string {
	at := p.launch.Program
	if at < len(words) && isShell(words[at]) {
		at += 1 + optionsOf(words[at+1:])
	}
	if at < p.launch.Program || at >= len(words) {
		return ""
	}
	if file := local(words[at]); isPlainFile(file) && isShellScript(file) {
		return file
	}
	return ""
}

// isShellScript goes by the name, or by the first line where that says nothing.
func isShellScript(file string) bool {
	head := make([]byte, 128)
	f, err := files.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	n, _ := f.Read(head)
	format, _ := doc.FormatOf(file, head[:n])
	return format == doc.Shell
}

// local is a path as seen from this folder, with slashes; "" for one that leads
// out of it.
func local(name string) string {
	rel, err := filepath.Rel(absolute("."), absolute(name))
	if name == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// absolute is a path from the root, or as it is where that cannot be told.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

func isPlainFile(name string) bool {
	if name == "" {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
