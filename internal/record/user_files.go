// SPDX-License-Identifier: Apache-2.0

package record

import (
	"path/filepath"

	"snug/internal/config/doc"
)

// userFiles adds to Files the lookups that binding needs.
type userFiles struct{ Files }

// local returns a path relative to the folder that the command runs in, with slashes; "" for a path outside it.
func (f userFiles) local(name string) string {
	rel, err := filepath.Rel(f.absolute("."), f.absolute(name))
	if name == "" || err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return filepath.ToSlash(rel)
}

// absolute returns the absolute path, or the path itself if that is unknown.
func (f userFiles) absolute(name string) string {
	if abs, err := f.Abs(name); err == nil {
		return abs
	}
	return name
}

// isRegular reports whether name is a regular file.
func (f userFiles) isRegular(name string) bool {
	if name == "" {
		return false
	}
	info, err := f.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// isExecutable reports whether a file is executable.
func (f userFiles) isExecutable(name string) bool {
	info, err := f.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// isShellScript reports whether a file is a shell script, by its name or else by its first line.
func (f userFiles) isShellScript(name string) bool {
	file, err := f.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 128)
	n, _ := file.Read(head)
	format, _ := doc.FormatOf(name, head[:n])
	return format == doc.Shell
}
