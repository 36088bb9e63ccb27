// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// csv reads a table whose first row names its columns. Columns with lengths are recognized in lengths_lines.go,
// columns with texts in lengths_texts.go. lengths_file.go chooses the reader by file extension.
func (d *dataFile) csv(r io.Reader, comma rune) error {
	limit := &elementLimit{r: r, most: maxLengthLine}
	in := csv.NewReader(limit)
	in.Comma, in.ReuseRecord, in.FieldsPerRecord, in.LazyQuotes = comma, true, -1, true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	names := make([]string, len(head))
	for i, name := range head {
		names[i] = strings.TrimPrefix(strings.TrimSpace(name), "\ufeff")
	}
	for !d.full {
		row, err := in.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		line, _ := in.FieldPos(0)
		if err := d.object(rowObject(names, row)); err != nil {
			return fmt.Errorf("line %d %w", line, err)
		}
		limit.most = in.InputOffset() + maxLengthLine
	}
	return nil
}

// rowObject returns a row as an object. Lengths are numbers, everything else is text.
func rowObject(names, row []string) map[string]any {
	out := map[string]any{}
	for i, text := range row[:min(len(row), len(names))] {
		out[names[i]] = text
	}
	for _, key := range lengthKeys {
		if text, ok := out[key].(string); ok {
			if f, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil {
				out[key] = f
			}
		}
	}
	return out
}
