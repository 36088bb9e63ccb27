// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"snug/internal/config"
	"snug/internal/config/meaning"
	"snug/internal/config/projects"
	"snug/internal/pattern"
	"snug/internal/setup"
)

// If a folder's files name no model, it usually contains a script that builds its own. Such a run must be recorded,
// and the error contains the command for that.

// configOption matches an option of a script's command line that takes a config file, and its default if it has one.
var configOption = pattern.New(`add_argument\((?:\s*["']-\w["'],)?\s*["'](--[\w-]*(?:config|conf|cfg)[\w-]*)["'](?:[^()]*?default\s*=\s*["']([^"'\n]+)["'])?`, "add_argument")

// lacksModel returns the error for a project without a model, with the command that records its script if there is
// only one candidate.
func (f *projectFlags) lacksModel(project *config.Project, m meaning.Missing) error {
	command := f.command(project)
	switch {
	case m.Setting != "model" || command == "":
		return lacking{m}
	case m.Say != meaning.NoModel:
		const measures = "measure the run: snug profile -- <your command>"
		m.Say = strings.Replace(m.Say, measures, fmt.Sprintf("record the run: snug profile --vary batch=2,3 -- %s, and then give --model %s", command, profileFile), 1)
		return lacking{m}
	}
	m.Say = fmt.Sprintf("no file names the model; give --model NAME or, if the code builds its own, record it: snug profile --vary batch=2,3 -- %s, and then give --model %s", command, profileFile)
	return lacking{m}
}

// command returns the command that starts the project's run, or "" if it is not clear.
func (f *projectFlags) command(project *config.Project) string {
	file, _ := project.Main()
	at := filepath.Join(f.folder, filepath.FromSlash(file))
	if strings.ContainsAny(at, " \t'\"") {
		return ""
	}
	if path.Ext(file) == ".sh" {
		return "bash " + at
	}
	script := f.loneScript()
	switch option, _ := f.configOption(script); {
	case script == "" || file == projects.SnugFile:
		return ""
	case path.Ext(file) == ".py" || project.IsHydra():
		return "python3 " + script
	case option != "":
		return fmt.Sprintf("python3 %s %s %s", script, option, at)
	}
	return ""
}

// reader returns the folder's only script as a loop, with the arguments that make it read the project's file; "" if no
// script is known to read the file.
func (f *projectFlags) reader(project *config.Project) string {
	file, _ := project.Main()
	script := f.loneScript()
	option, _ := f.configOption(script)
	switch {
	case project.IsHydra() || path.Ext(file) == ".py" || path.Ext(file) == ".sh" || file == projects.SnugFile:
		return ""
	case option != "":
		return setup.LoopOf([]string{script, option, filepath.Join(f.folder, filepath.FromSlash(file))})
	case f.opens(script, file):
		return setup.LoopOf([]string{script})
	}
	return ""
}

// withReader adds the script that reads the project's file to the fields of a run whose files name no model: its code may
// show one. Adapters whose layers no file names are also the code's.
func (f *projectFlags) withReader(project *config.Project, fields map[string]any) {
	if model, _ := fields["model"].(map[string]any); fields["loop"] != nil || model["name"] != nil || model["config"] != nil || model["profile"] != nil || model["custom"] != nil {
		return
	}
	loop := f.reader(project)
	if loop == "" {
		return
	}
	fields["loop"] = loop
	if lora, _ := fields["lora"].(map[string]any); lora != nil && lora["targets"] == nil {
		delete(fields, "lora")
	}
}

// opens reports whether a script contains the path of a file of the folder as a text.
func (f *projectFlags) opens(script, file string) bool {
	if script == "" {
		return false
	}
	text, err := projectFiles{f.folder}.ReadFile(filepath.Base(script))
	return err == nil && (strings.Contains(string(text), `"`+file+`"`) || strings.Contains(string(text), "'"+file+"'"))
}

// configOption returns the option of a script that takes a config file, and the file that it reads by default.
func (f *projectFlags) configOption(script string) (option, file string) {
	if script == "" {
		return "", ""
	}
	text, err := projectFiles{f.folder}.ReadFile(filepath.Base(script))
	if err != nil {
		return "", ""
	}
	if m := configOption.Find(string(text)); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// several returns the error for a folder with the configs of several runs. If the script reads one of them by default,
// and that one names no model either, choosing one would not help, so the error is about the model.
func (f *projectFlags) several(env Env, over map[string]any, err error) error {
	if !errors.Is(err, projects.ErrSeveral) || len(f.paths) > 0 || over["model"] != nil {
		return err
	}
	_, file := f.configOption(f.loneScript())
	if file == "" {
		return err
	}
	named := projectFlags{folder: f.folder, paths: []string{file}}
	project, wrong := named.open(env)
	if wrong != nil || project.Fields()["model"] != nil || named.command(project) == "" {
		return err
	}
	for _, m := range project.Missing() {
		if m.Setting == "model" {
			return named.lacksModel(project, m)
		}
	}
	return err
}
