// SPDX-License-Identifier: Apache-2.0

package files

import "path/filepath"

// Inside reports whether a file, with all links followed, is inside a folder. A name is absolute or relative to the
// folder.
func Inside(folder, name string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(folder, name)
	}
	rel, err := filepath.Rel(resolved(folder), resolved(name))
	return err == nil && filepath.IsLocal(rel)
}

// resolved returns an absolute name without links. If the file does not exist, only the existing part is resolved.
func resolved(name string) string {
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	if target, err := filepath.EvalSymlinks(abs); err == nil {
		return target
	}
	parent := filepath.Dir(abs)
	if parent == abs {
		return abs
	}
	return filepath.Join(resolved(parent), filepath.Base(abs))
}
