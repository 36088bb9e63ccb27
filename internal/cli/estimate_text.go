// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"snug/internal/term"
	"snug/internal/units"
)

func (r estimateReport) text(w io.Writer, s term.Screen) error {
	_, err := fmt.Fprintf(w, "%s: %v\n", r.Setup.Model.Title(), units.Bytes(r.PeakReserved))
	return err
}
