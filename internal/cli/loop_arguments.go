// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path"
	"path/filepath"

	"snug/internal/config"
	"snug/internal/setup"
)

// commanded returns the project as --loop "script.py ARGS" starts its script: the arguments replace the command in the
// folder's files and the script's defaults. It returns the project itself if there are none, or, if the folder's settings are
// those of another script, the settings in the script itself; nil if that has none.
func (f *projectFlags) commanded(project *config.Project, over map[string]any) *config.Project {
	loop, _ := over["loop"].(string)
	script := filepath.ToSlash(filepath.Clean(setup.ScriptOf(loop)))
	if project == nil || len(f.paths) > 0 || !setup.ReadsScript(loop) {
		return project
	}
	files := projectFiles{f.folder}
	if _, err := files.ReadFile(script); err != nil {
		return project
	}
	if loop != setup.ScriptOf(loop) {
		started, err := config.OpenCommand(files, f.folder, "python "+loop)
		if err != nil {
			return project
		}
		return started
	}
	if main, _ := project.Main(); path.Ext(main) != ".py" || main == script {
		return project
	}
	own, err := config.Open(files, f.folder, script)
	if err != nil {
		return nil
	}
	return own
}
