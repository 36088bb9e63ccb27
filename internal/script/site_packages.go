// SPDX-License-Identifier: Apache-2.0

package script

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"snug/internal/pysrc"
)

//go:embed site-packages
var sources embed.FS

// libraryFolder is the path prefix of the library files.
const libraryFolder = "site-packages/"

func isLibrary(f *pysrc.File) bool { return strings.HasPrefix(f.Path, libraryFolder) }

// library returns snug's own file that stands in for a module.
func library(module string) (*pysrc.File, error) {
	path := libraryFolder + strings.ReplaceAll(module, ".", "_") + ".py"
	src, err := sources.ReadFile(path)
	if err != nil {
		return nil, fs.ErrNotExist
	}
	f, err := pysrc.Parse(path, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
