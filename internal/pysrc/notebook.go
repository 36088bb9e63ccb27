// SPDX-License-Identifier: Apache-2.0

package pysrc

import (
	"encoding/json"
	"fmt"
	"strings"

	matching "snug/internal/pattern"
)

// Lines of a notebook that are not Python: shell commands, IPython magics, and assignments of their output to a name.
var (
	magicLine   = matching.New(`^\s*[!%]`)
	magicResult = matching.New(`^(\s*[A-Za-z_][A-Za-z0-9_]*\s*=\s*)[!%].*$`)
)

// otherCells are the magics of cells in other languages.
var otherCells = []string{"%%bash", "%%sh", "%%script", "%%html", "%%javascript", "%%js", "%%latex", "%%markdown", "%%svg", "%%writefile", "%%cmd", "%%perl", "%%ruby"}

// Notebook returns the code of a notebook as a program. Line numbers count only the lines in code cells.
func Notebook(src []byte) (string, error) {
	code, err := cells(src)
	return WithoutMagics(code), err
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
		return "", fmt.Errorf("the notebook is not JSON: %w", err)
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

// WithoutMagics replaces the lines that only a notebook understands, so that all others keep their line numbers.
func WithoutMagics(code string) string {
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
