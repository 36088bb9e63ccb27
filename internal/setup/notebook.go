// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"

	"snug/internal/pysrc"
)

// parsePython parses a script or a notebook. In a notebook, line numbers count only the lines in code cells.
func parsePython(shown string, src []byte) (*pysrc.File, error) {
	if isNotebook(shown) {
		code, err := pysrc.Notebook(src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
		return pysrc.Parse(shown, []byte(code))
	}
	f, err := pysrc.Parse(shown, src)
	if err == nil {
		return f, nil
	}
	if plain := pysrc.WithoutMagics(string(src)); plain != string(src) { // exported from a notebook
		if f, err := pysrc.Parse(shown, []byte(plain)); err == nil {
			return f, nil
		}
	}
	return nil, err
}
