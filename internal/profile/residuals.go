// SPDX-License-Identifier: Apache-2.0

package profile

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// Residual is a range of prediction errors, as true/predicted - 1.
type Residual struct {
	Cases int     `json:"cases"` // the number of predictions
	Low   float64 `json:"low"`   // the lowest error
	High  float64 `json:"high"`  // the highest error
}

// Or returns the range that covers both.
func (r Residual) Or(o Residual) Residual {
	return Residual{Cases: r.Cases + o.Cases, Low: min(r.Low, o.Low), High: max(r.High, o.High)}
}

// With returns the range extended to include the error of one more prediction.
func (r Residual) With(off float64) Residual { return r.Or(Residual{Cases: 1, Low: off, High: off}) }

// Residuals are prediction errors by cause. `make accuracy` writes them.
//
// They cover all 446 predictions. If each model is compared only with the errors of the other models, they cover 441
// predictions, or 445 if the model's convolutions are also removed from cuDNN's table.
type Residuals struct {
	Guessed Residual `json:"guessed"` // the model's convolutions are unmeasured, and guesses for them affect the peak
	Unlike  Residual `json:"unlike"`  // the recordings differ in more than their size
	Smaller Residual `json:"smaller"` // the size is below all recorded ones

	// FlashLost is simulated, not measured, from the setups in dev.jsonl with and without flash attention. The
	// difference is largest if heads share keys, which other kernels copy for each head.
	FlashLost   Residual `json:"flash_lost"`
	FlashGained Residual `json:"flash_gained"` // the same for a card that has flash attention when the recorded card does not
}

//go:embed residuals.json
var residualsJSON []byte

// residuals returns the table. It is decoded on first use.
var residuals = sync.OnceValue(func() (r Residuals) {
	if err := json.Unmarshal(residualsJSON, &r); err != nil {
		panic("profile: residuals.json: " + err.Error())
	}
	return r
})
