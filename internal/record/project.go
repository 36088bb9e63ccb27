// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/projects"
)

// project returns the config files with settings: the files that the plan names; else the one that a Hydra script
// starts from; else the files that the command names, plus its script if that has some of the settings; else the
// files in the folder.
func (b binder) project(words []string, settings ...string) (*config.Project, error) {
	files := b.configs
	if main, _ := b.hydraMain(words); len(files) == 0 && main != "" && b.holdsAny(main, settings) {
		files = []string{main}
	}
	if len(files) == 0 {
		files = b.configsIn(slices.Concat(words, b.batchWords()))
		for _, script := range []string{b.script(words), b.shellScript(words)} {
			if script != "" && b.holdsAny(script, settings) {
				files = append(files, script)
			}
		}
	}
	return b.open(files...)
}

func (b binder) open(files ...string) (*config.Project, error) {
	return config.Open(b.files, ".", files...)
}

// holdsAny reports whether a script, or a config tree given by its main file, has a value for one of some settings.
func (b binder) holdsAny(file string, settings []string) bool {
	project, err := b.open(file)
	if err != nil {
		return false
	}
	main, _ := project.Main()
	return slices.ContainsFunc(project.Bindings, func(x projects.Binding) bool {
		return (x.File == file || main == file && project.IsHydra()) && slices.Contains(settings, x.Setting)
	})
}

// hydraMain returns the config that Hydra starts from in the command's script, or "" if it is unknown; ok is false if
// the script does not use Hydra.
func (b binder) hydraMain(words []string) (file string, ok bool) {
	script := b.script(words)
	if script == "" {
		return "", false
	}
	text, err := b.files.ReadFile(script)
	if err != nil {
		return "", false
	}
	file, ok = projects.HydraMain(script, text, words)
	if file = b.files.local(file); !b.files.isRegular(file) {
		file = ""
	}
	return file, ok
}

// configsIn returns the config files that a command names.
func (b binder) configsIn(words []string) []string {
	var out []string
	for _, w := range words {
		value := w[strings.LastIndex(w, "=")+1:]
		switch strings.ToLower(filepath.Ext(value)) {
		case ".yaml", ".yml", ".json", ".toml":
			if file := b.files.local(value); b.files.isRegular(file) {
				out = append(out, file)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// scriptRunners are launchers that run a script. The words after it are the script's own arguments.
var scriptRunners = []string{"sh", "bash", "dash", "zsh", "fish", "make", "just", "sbatch"}

// script returns the Python file that the command runs, as a path relative to this folder; "" if there is none.
func (b binder) script(words []string) string {
	if slices.Contains(scriptRunners, b.launch.Launcher) {
		return ""
	}
	for i, w := range words {
		file := ""
		switch {
		case strings.HasSuffix(w, ".py"):
			file = b.files.local(w)
		case i > 0 && words[i-1] == "-m":
			file = strings.ReplaceAll(w, ".", "/") + ".py"
		}
		if b.files.isRegular(file) {
			return file
		}
	}
	return ""
}

// shellScript returns the shell script that the command runs; "" if it runs none.
func (b binder) shellScript(words []string) string {
	at := b.launch.Program
	if at < len(words) && isShell(words[at]) {
		at += 1 + shellOptions(words[at+1:])
	}
	if at < b.launch.Program || at >= len(words) {
		return ""
	}
	if file := b.files.local(words[at]); b.files.isRegular(file) && b.files.isShellScript(file) {
		return file
	}
	return ""
}
