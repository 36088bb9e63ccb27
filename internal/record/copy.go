// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"snug/internal/config/change"
	"snug/internal/config/doc"
	"snug/internal/pattern"
	"snug/internal/slurm"
)

// The user's files are never changed: the command reads copies with the new values.

// edit returns the document d with one more edit; a nil d is the file as it is on disk.
func (b binder) edit(d *doc.Document, e change.Edit) (*doc.Document, error) {
	if d == nil {
		data, err := b.files.ReadFile(e.File)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", e.File, cause(err))
		}
		if d, err = doc.Open(e.File, data); err != nil {
			return nil, err
		}
	}
	return e.On(d)
}

// useCopies makes the command read the changed copies instead of the user's files.
func (b binder) useCopies(c *command, copies map[string]*doc.Document, folder string) error {
	script := b.script(c.args)
	for _, file := range slices.Sorted(maps.Keys(copies)) {
		if err := b.replaceFile(c, file, copies[file], folder); err != nil {
			return err
		}
		if file == script { // so that imports from the original's folder still work
			c.env = append(c.env, "PYTHONPATH="+b.files.absolute(filepath.Dir(file)))
		}
	}
	return nil
}

// replaceFile makes the command read a changed copy of one file.
func (b binder) replaceFile(c *command, file string, d *doc.Document, folder string) error {
	data := d.Bytes()
	if b.isBatch(c, file) {
		c.replaceBatch(string(data))
		return nil
	}
	switch d.Format() {
	case doc.Shell:
		if ran, err := c.runText(b.launch.Program, file, data); ran || err != nil {
			return err
		}
	case doc.Python:
		data = withPath(data, b.files.absolute(file))
	}
	return c.writeCopy(file, data, folder)
}

// ownPath matches uses of a Python file's own path.
var ownPath = pattern.New(`\b__file__\b`)

// withPath returns the text of a Python file, changed so that it finds the files next to the original wherever it
// runs.
func withPath(text []byte, path string) []byte {
	return ownPath.Regexp().ReplaceAllLiteral(text, []byte(strconv.Quote(path)))
}

// writeCopy writes a changed copy of a file and makes the command read it.
func (c *command) writeCopy(file string, data []byte, folder string) error {
	folder = filepath.Join(folder, "files")
	copied := filepath.Join(folder, filepath.Base(file))
	if !c.useCopy(file, copied) {
		name, _, _ := strings.Cut(c.placements[0], ":")
		return fmt.Errorf("%s contains the %s, but the command does not name that file; name it, as in --config %s, or write {%s} into the command", file, name, file, name)
	}
	mode := fs.FileMode(0o600)
	if c.files.isExecutable(file) {
		mode = 0o700
	}
	err := c.files.MkdirAll(folder, 0o700)
	if err == nil {
		err = c.files.WriteFile(copied, data, mode)
	}
	if err != nil {
		return fmt.Errorf("copying %s: %w", file, cause(err))
	}
	return nil
}

// useCopy replaces a file's name with its copy's name, and reports whether the command names the file.
func (c *command) useCopy(file, copied string) (found bool) {
	for i, w := range c.args {
		if c.isName(w, file) {
			c.args[i], found = w[:strings.LastIndex(w, "=")+1]+copied, true
		}
	}
	c.batch = slurm.MapWords(c.batch, func(w string) string {
		if !c.isName(w, file) {
			return w
		}
		found = true
		return w[:strings.LastIndex(w, "=")+1] + copied
	})
	return found
}

// names reports whether the command names a file.
func (c *command) names(file string) bool {
	return slices.ContainsFunc(slices.Concat(c.args, slurm.Words(c.batch)), func(w string) bool { return c.isName(w, file) })
}

// isName reports whether a word names a file, as train.yaml and --config=train.yaml do.
func (c *command) isName(word, file string) bool {
	return c.files.local(word[strings.LastIndex(word, "=")+1:]) == filepath.ToSlash(filepath.Clean(file))
}
