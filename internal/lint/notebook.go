// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"snug/internal/pysrc"
)

// A notebook's code cells are one program: a list may be created in one cell and grow in another. So the cells are
// joined, and a finding's line is converted back to its cell. IPython lines, such as %time and !pip, become pass, so
// that all other lines keep their positions.

// notebook is a notebook's code as one source file.
type notebook struct {
	code  []byte
	cells []int // the cell of each line
	first []int // the first line of each cell, by cell
}

// lintNotebook returns the findings in a notebook. Notebooks are never fixed.
func lintNotebook(path string, src []byte, rules []Rule, torch string) ([]Finding, error) {
	n, err := readNotebook(src)
	if err != nil {
		return nil, inFile(path, err)
	}
	if n.code, _, err = decoded(n.code); err != nil {
		return nil, inFile(path, err)
	}
	file, err := pysrc.Parse(path, n.code)
	if err != nil {
		return nil, n.placed(path, err)
	}
	found, err := check(path, n.code, file.Body, rules, torch)
	for i := range found {
		found[i].Path, found[i].edits = path, nil
		found[i].Cell, found[i].Line = n.place(found[i].Line)
	}
	return found, err
}

// place returns the cell and the line in it.
func (n notebook) place(line int) (cell, inCell int) {
	if line < 1 || line > len(n.cells) {
		return 1, line
	}
	cell = n.cells[line-1]
	return cell, line - n.first[cell-1] + 1
}

// placed adds the cell to a syntax error.
func (n notebook) placed(path string, err error) error {
	text := strings.TrimPrefix(err.Error(), path+":")
	line := 0
	if _, scanErr := fmt.Sscanf(text, "%d:", &line); scanErr != nil {
		return err
	}
	_, rest, _ := strings.Cut(text, ":")
	cell, inCell := n.place(line)
	return fmt.Errorf("%s:cell %d:%d:%s", path, cell, inCell, rest)
}

// readNotebook joins the code cells of a notebook.
func readNotebook(src []byte) (notebook, error) {
	var doc struct {
		Cells []struct {
			Kind   string          `json:"cell_type"`
			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(src, &doc); err != nil {
		return notebook{}, errors.New("this is not a Jupyter notebook: it is not a JSON object with cells")
	}
	var n notebook
	var code strings.Builder
	line := 1
	for i, c := range doc.Cells {
		n.first = append(n.first, line)
		if c.Kind != "code" {
			continue
		}
		for _, text := range cellLines(cellText(c.Source)) {
			code.WriteString(text + "\n")
			n.cells = append(n.cells, i+1)
			line++
		}
	}
	n.code = []byte(code.String())
	return n, nil
}

// cellText returns a cell's source, which is a string or a list of lines.
func cellText(raw json.RawMessage) string {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole
	}
	var lines []string
	_ = json.Unmarshal(raw, &lines) // anything else is an empty cell
	return strings.Join(lines, "")
}

// cellLines returns a cell's lines, with IPython lines replaced. A cell in another language becomes empty.
func cellLines(text string) []string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
	if magic := strings.TrimSpace(lines[0]); strings.HasPrefix(magic, "%%") && !keepsPython(magic) {
		return make([]string, len(lines))
	}
	joined := false
	for i, line := range lines {
		code := strings.TrimLeft(line, " \t")
		switch {
		case joined:
			lines[i] = ""
		case isMagic(code):
			lines[i] = line[:len(line)-len(code)] + "pass"
		default:
			continue
		}
		joined = strings.HasSuffix(strings.TrimRight(code, " "), "\\")
	}
	return lines
}

// keepsPython reports whether a cell with this cell magic is still Python code of this program.
func keepsPython(magic string) bool {
	switch strings.Fields(magic)[0] {
	case "%%time", "%%timeit", "%%capture", "%%memit", "%%prun":
		return true
	}
	return false
}

// isMagic reports whether a line is IPython syntax: %cmd, !cmd, ?name or name?.
func isMagic(code string) bool {
	if _, value, ok := strings.Cut(code, "="); ok {
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, "!") || strings.HasPrefix(value, "%") { // files = !ls
			return true
		}
	}
	return strings.HasPrefix(code, "%") || strings.HasPrefix(code, "!") || strings.HasPrefix(code, "?") ||
		strings.HasSuffix(strings.TrimRight(code, " "), "?") && !strings.ContainsAny(code, "'\"#")
}
