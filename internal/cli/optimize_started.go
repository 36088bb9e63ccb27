// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/projects"
)

// If a command is given, it is the run: another script with its own settings next to it does not matter.

// startedScript returns the Python script that a command starts, relative to the folder; "" if there is none in
// the folder.
func (o *optimizeOptions) startedScript(words []string) string {
	for _, w := range words {
		if !strings.HasSuffix(w, ".py") {
			continue
		}
		name := filepath.ToSlash(filepath.Clean(w))
		if _, err := (projectFiles{o.folder}).ReadFile(name); err != nil {
			return ""
		}
		return name
	}
	return ""
}

// opened opens the folder's project. It returns ErrNothing if the settings belong to a script that the command
// neither starts nor imports.
func (o *optimizeOptions) opened(env Env) (*config.Project, error) {
	project, err := o.projectFlags.open(env)
	if err == nil && len(o.paths) == 0 && o.started != "" && o.startsAnother(project) {
		return nil, projects.ErrNothing
	}
	return project, err
}

func (o *optimizeOptions) startsAnother(project *config.Project) bool {
	if project.Primary == nil || !strings.HasSuffix(project.Primary.File, ".py") || project.Primary.File == o.started {
		return false
	}
	text, err := (projectFiles{o.folder}).ReadFile(o.started)
	module := strings.TrimSuffix(filepath.Base(project.Primary.File), ".py")
	imports := func(line []byte) bool {
		first, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		return (string(first) == "import" || string(first) == "from") && bytes.Contains(line, []byte(module))
	}
	return err == nil && !slices.ContainsFunc(bytes.Split(text, []byte("\n")), imports)
}
