// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"encoding/json"
	"math"

	"snug/internal/estimate"
)

// Residuals is the table that estimates take their intervals from, as JSON.
func (r *Report) Residuals() ([]byte, error) {
	t := estimate.Residuals{Groups: map[string]estimate.Range{}}
	for _, g := range grouped(r.Cases, estimate.Groups) {
		t.Groups[g.Name] = estimate.Range{Cases: g.Cases, Low: math.Floor(g.Low*1e4) / 1e4, High: math.Ceil(g.High*1e4) / 1e4}
	}
	out, err := json.MarshalIndent(t, "", " ")
	return append(out, '\n'), err
}
