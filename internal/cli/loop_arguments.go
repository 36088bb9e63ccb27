// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"

	"snug/internal/config"
	"snug/internal/setup"
)

// commanded returns the project as the arguments of --loop "script.py ARGS" start its script: they replace the command
// in the folder's files and the script's defaults. It returns the project itself if there are none.
func (f *projectFlags) commanded(project *config.Project, over map[string]any) *config.Project {
	loop, _ := over["loop"].(string)
	script := filepath.ToSlash(filepath.Clean(setup.ScriptOf(loop)))
	if project == nil || len(f.paths) > 0 || !setup.ReadsScript(loop) || loop == setup.ScriptOf(loop) {
		return project
	}
	files := projectFiles{f.folder}
	if _, err := files.ReadFile(script); err != nil {
		return project
	}
	started, err := config.OpenCommand(files, f.folder, "python "+loop)
	if err != nil {
		return project
	}
	return started
}
