// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"fmt"
	"strings"

	"snug/internal/pattern"
	"snug/internal/pysrc"
)

// Lines of a notebook that are not Python: shell commands, IPython magics, and assignments of their output to a name.
var (
	magicLine   = pattern.New(`^\s*[!%]`)
	magicResult = pattern.New(`^(\s*[A-Za-z_][A-Za-z0-9_]*\s*=\s*)[!%].*$`)
)

// otherCells are the magics of cells in other languages.
var otherCells = []string{"%%bash", "%%sh", "%%script", "%%html", "%%javascript", "%%js", "%%latex", "%%markdown", "%%svg", "%%writefile", "%%cmd", "%%perl", "%%ruby"}

// parsePython parses a script or a notebook. In a notebook, line numbers count only the lines in code cells.
func parsePython(shown string, src []byte) (*pysrc.File, error) {
	if isNotebook(shown) {
		code, err := cells(src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
		return pysrc.Parse(shown, []byte(withoutMagics(code)))
	}
	f, err := pysrc.Parse(shown, src)
	if err == nil {
		return f, nil
	}
	if plain := withoutMagics(string(src)); plain != string(src) { // exported from a notebook
		if f, err := pysrc.Parse(shown, []byte(plain)); err == nil {
			return f, nil
		}
	}
	return nil, err
}

// cells returns the code of a notebook.
func cells(src []byte) (string, error) {
	var book struct {
		Cells []struct {
			Kind   string          `json:"cell_type"`
			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(src, &book); err != nil {
		return "", Wrong("the notebook is not JSON: %v", err)
	}
	var out strings.Builder
	for _, c := range book.Cells {
		if c.Kind == "code" {
			out.WriteString(cellText(c.Source))
		}
	}
	return out.String(), nil
}

// cellText returns the text of a cell, which is one string or a list of strings. It skips cells in other languages.
func cellText(raw json.RawMessage) string {
	var text string
	var lines []string
	if json.Unmarshal(raw, &text) != nil {
		_ = json.Unmarshal(raw, &lines) // anything else is an empty cell
		text = strings.Join(lines, "")
	}
	for _, m := range otherCells {
		if strings.HasPrefix(strings.TrimSpace(text), m) {
			text = ""
		}
	}
	return text + "\n"
}

// withoutMagics replaces the lines that only a notebook understands, so that all others keep their line numbers.
func withoutMagics(code string) string {
	lines := strings.Split(code, "\n")
	for i, l := range lines {
		switch {
		case magicLine.Regexp().MatchString(l):
			lines[i] = l[:len(l)-len(strings.TrimLeft(l, " \t"))] + "pass"
		default:
			lines[i] = magicResult.Regexp().ReplaceAllString(l, "${1}None")
		}
	}
	return strings.Join(lines, "\n")
}
