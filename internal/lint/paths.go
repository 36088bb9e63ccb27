// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"snug/internal/files"
)

// Limits on what is read.
const (
	MaxBytes  = 64 << 20 // bytes of a file; notebooks may contain images
	maxCode   = 2 << 20  // bytes of Python code in a file
	maxFolder = 100_000  // entries of a folder
	maxFiles  = 500_000  // files in one run
	maxDepth  = 64       // nested folders
)

// Result is what lint found in one file.
type Result struct {
	Path     string    // the file
	Source   []byte    // as read
	Findings []Finding // in file order
	Err      error     // why the file could not be checked, in one line
}

// Paths lists the Python files and notebooks at paths. Files are listed as given. Folders are listed with all their
// contents except hidden folders, installed packages and whatever exclude matches. Links to folders are not
// followed.
func Paths(paths []string, exclude func(string) bool) ([]string, error) {
	l := lister{exclude: exclude, seen: map[string]bool{}}
	for _, p := range paths {
		if err := l.named(filepath.Clean(p)); err != nil {
			return nil, err
		}
	}
	return l.out, nil
}

type lister struct {
	exclude func(string) bool
	seen    map[string]bool
	out     []string
}

// named lists a path that the user gave.
func (l *lister) named(p string) error {
	if info, err := os.Stat(p); err != nil || !info.IsDir() {
		return l.add(p) // a file, or a missing one, for which reading reports the error
	}
	entries, err := files.ReadDir(p, maxFolder)
	if err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	return l.folder(p, entries, 0)
}

func (l *lister) add(p string) error {
	if len(l.out) >= maxFiles {
		return fmt.Errorf("there are more than %d files; name smaller folders", maxFiles)
	}
	if !l.seen[p] && !l.exclude(p) {
		l.seen[p] = true
		l.out = append(l.out, p)
	}
	return nil
}

func (l *lister) folder(dir string, entries []fs.DirEntry, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: folders are nested more than %d deep", dir, maxDepth)
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if isSkipped(e.Name()) || l.exclude(p) {
				continue
			}
			inner, err := files.ReadDir(p, maxFolder)
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			if err := l.folder(p, inner, depth+1); err != nil {
				return err
			}
		case isPython(e.Name()):
			if err := l.add(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPython reports whether a file found in a folder is Python source or a notebook.
func isPython(name string) bool {
	return !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".py") || strings.HasSuffix(name, ".pyw") || strings.HasSuffix(name, ".ipynb"))
}

// isSkipped reports whether a folder contains nothing that the user wrote.
func isSkipped(name string) bool {
	switch name {
	case "__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist", "__pypackages__":
		return true
	}
	return strings.HasPrefix(name, ".")
}

// Check checks files, several at once, and returns their results in order.
func Check(paths []string, read func(path string) ([]byte, error), o Options) []Result {
	out := make([]Result, len(paths))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(len(paths), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				out[i] = checkFile(paths[i], read, o)
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

func checkFile(path string, read func(string) ([]byte, error), o Options) Result {
	src, err := read(path)
	if err != nil {
		return Result{Path: path, Err: err}
	}
	found, err := Source(path, src, o)
	r := Result{Path: path, Findings: found, Err: err}
	if slices.ContainsFunc(found, func(f Finding) bool { return len(f.edits) > 0 }) {
		r.Source = src
	}
	return r
}
