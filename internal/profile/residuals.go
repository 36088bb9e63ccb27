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

// Or returns the range that covers both.
func (r Residual) Or(o Residual) Residual {
	return Residual{Cases: r.Cases + o.Cases, Low: min(r.Low, o.Low), High: max(r.High, o.High)}
}

// With returns the range with one more prediction in it, which was off by off.
func (r Residual) With(off float64) Residual { return r.Or(Residual{Cases: 1, Low: off, High: off}) }

// Residuals are the errors of predictions by cause. `make accuracy` writes them.
//
// They cover all of the 446 predictions. Taken from the other models only, they cover 441, and 445 if
// each model's convolutions are taken out of cuDNN's table.
type Residuals struct {
	Guessed Residual `json:"guessed"` // without the model's convolutions, if the guesses moved the peak
	Unlike  Residual `json:"unlike"`  // the recordings differ in more than their size
	Smaller Residual `json:"smaller"` // the size is below all recorded ones

	// Not measured but simulated: the setups of dev.jsonl with and without flash attention. The
	// difference is largest where heads share keys, which other kernels copy for each head.
	FlashLost   Residual `json:"flash_lost"`
	FlashGained Residual `json:"flash_gained"` // the same for a card that has flash attention if the recorded card does not
}

//go:embed residuals.json
var residualsJSON []byte

// residuals returns the table, which is decoded the first time.
var residuals = sync.OnceValue(func() (r Residuals) {
	if err := json.Unmarshal(residualsJSON, &r); err != nil {
		panic("profile: residuals.json: " + err.Error())
	}
	return r
})
