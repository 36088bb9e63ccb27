// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"strings"

	"snug/internal/bestfit"
)

// Prediction is the memory of a training step at a size, in bytes.
type Prediction struct {
	At            Point  `json:"at"`             // the size
	PeakAllocated uint64 `json:"peak_allocated"` // bytes
	PeakReserved  uint64 `json:"peak_reserved"`  // bytes

	// Interval is the range that a run may reserve, in bytes. It is set only if steps differ in size, because the
	// peak then depends on the samples drawn.
	Interval *[2]uint64 `json:"interval,omitempty"`
}

// endless is the memory of a card that is never full.
const endless = 1 << 58

// Predict generates the stream at a size and plays it through the allocator.
func (p *Program) Predict(at Point) (*Prediction, error) { return p.PredictBeside(at, 0) }

// PredictBeside is like Predict, with another kept bytes allocated before the first event.
func (p *Program) PredictBeside(at Point, kept uint64) (*Prediction, error) {
	values, err := p.values(at)
	if err != nil {
		return nil, err
	}
	if p.ragged != nil {
		got, _, err := p.raggedPredict(values, at, kept)
		return got, err
	}
	v := p.nearest(values)
	if v.whole.most > 0 && bestfit.Suits(p.Options) {
		return p.predictPeaks(v, values, at, kept)
	}
	trace, err := p.trace(v, v.whole, values, at)
	if err != nil {
		return nil, err
	}
	return p.play(v, trace, at, kept)
}

// list joins names for a sentence.
func list(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}
