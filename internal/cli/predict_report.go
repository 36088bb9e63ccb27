// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strings"

	"snug/internal/profile"
	"snug/internal/term"
	"snug/internal/units"
)

// predictReport is what `snug predict` has to say.
type predictReport struct {
	program     *profile.Program
	predictions []*profile.Prediction
}

// json writes one line for each size.
func (r *predictReport) json(w io.Writer) error {
	for _, p := range r.predictions {
		if err := printJSON(w, p); err != nil {
			return err
		}
	}
	return nil
}

// text writes the report for people.
func (r *predictReport) text(w io.Writer, s term.Screen) error {
	table := term.Table{Header: []string{"size", "peak reserved", "peak allocated"}, Right: []int{1, 2}, Indent: 2}
	for _, p := range r.predictions {
		table.Rows = append(table.Rows, []string{
			p.At.String(), units.Bytes(p.PeakReserved).String(), units.Bytes(p.PeakAllocated).String(),
		})
	}
	_, err := fmt.Fprintln(w, strings.Join(s.Table(table), "\n"))
	return err
}
