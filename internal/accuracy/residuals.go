// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"encoding/json"
	"math"
	"slices"

	"snug/internal/estimate"
)

// Residuals is the table that estimates take their intervals from, as JSON. Runs
// that left out updates are not in it: they never took what a run takes that
// goes on.
func (r *Report) Residuals() ([]byte, error) {
	t := estimate.Residuals{Groups: map[string]estimate.Range{}}
	whole := slices.DeleteFunc(slices.Clone(r.Cases), func(c Case) bool { return c.Skipped() > 0 })
	for _, g := range grouped(whole, estimate.Groups) {
		t.Groups[g.Name] = estimate.Range{Cases: g.Cases, Low: math.Floor(g.Low*1e4) / 1e4, High: math.Ceil(g.High*1e4) / 1e4}
	}
	out, err := json.MarshalIndent(t, "", " ")
	return append(out, '\n'), err
}
