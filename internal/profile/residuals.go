// SPDX-License-Identifier: Apache-2.0

package profile

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// Residual is the range of the errors of predictions, as true/predicted - 1.
type Residual struct {
	Cases int     `json:"cases"` // the number of predictions
	Low   float64 `json:"low"`   // the lowest error
	High  float64 `json:"high"`  // the highest error
}

// Or is what holds both.
func (r Residual) Or(o Residual) Residual {
	return Residual{Cases: r.Cases + o.Cases, Low: min(r.Low, o.Low), High: max(r.High, o.High)}
}

// With counts one more prediction, and how far off it was.
func (r Residual) With(off float64) Residual { return r.Or(Residual{Cases: 1, Low: off, High: off}) }

// Residuals is how far off predictions have been, each over all of those with that
// cause. `make accuracy` writes them.
//
// They hold all of the 446 predictions. Taken from the other models alone, they hold
// 441, and 445 of the same with each model's convolutions taken out of cuDNN's table.
type Residuals struct {
	Guessed Residual `json:"guessed"` // without the model's convolutions, where the guesses moved the peak
	Unlike  Residual `json:"unlike"`  // cuDNN's kernels differ between the recorded and the predicted size
	Smaller Residual `json:"smaller"` // predictions for sizes below the recorded ones

	// Not measured but simulated: the setups of dev.jsonl with and without flash
	// attention. Most where heads share keys, which other kernels want copied for each
	// head.
	FlashLost   Residual `json:"flash_lost"`
	FlashGained Residual `json:"flash_gained"` // the same for a card that has flash attention where the recorded one has not
}

//go:embed residuals.json
var residualsJSON []byte

// residuals is the table when it is first asked for.
var residuals = sync.OnceValue(func() (r Residuals) {
	if err := json.Unmarshal(residualsJSON, &r); err != nil {
		panic("profile: residuals.json: " + err.Error())
	}
	return r
})
