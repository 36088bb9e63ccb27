// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"path"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/pattern"
)

// Environments are the usual folders of a project's own Python environment.
var Environments = []string{".venv", "venv", "env"}

// Patterns for how pip and uv record installed packages. Families were checked with these major versions of
// transformers; others are ignored.
var (
	transformersInfo = pattern.New(`^transformers-([45]\.[0-9]+(?:\.[0-9]+)*)\.dist-info$`)
	bnbInfo          = pattern.New(`^bitsandbytes-(0\.(?:4[3-9]|50)(?:\.[0-9]+)*)\.dist-info$`)
	trlInfo          = pattern.New(`^trl-([01]\.[0-9]+(?:\.[0-9]+)*)\.dist-info$`)
)

// installed returns the version of a library in the project's own environment; "" if it is not installed. It
// runs no programs.
func installed(files projects.Files, info *pattern.Pattern) string {
	for _, env := range Environments {
		for _, lib := range libraries(files, env) {
			entries, err := files.ReadDir(path.Join(lib, "site-packages"))
			if err != nil {
				continue
			}
			for _, e := range entries {
				if found := info.Find(e.Name()); found != nil {
					return found[1]
				}
			}
		}
	}
	return ""
}

// maxPythons limits the Python versions that are searched in an environment.
const maxPythons = 8

// libraries returns the folders in which an environment may have its packages.
func libraries(files projects.Files, env string) []string {
	out := []string{path.Join(env, "Lib")} // on Windows
	entries, err := files.ReadDir(path.Join(env, "lib"))
	if err != nil {
		return out
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "python3") && len(out) < maxPythons {
			out = append(out, path.Join(env, "lib", e.Name()))
		}
	}
	return out
}
