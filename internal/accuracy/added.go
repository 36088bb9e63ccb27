// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"maps"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/setup"
)

// A profile recorded on one GPU with one forward per step also predicts several forwards and DDP: it adds gradients
// and buckets to the recording (estimate.Kept). Its error is measured against the simulation, for runs that are simulated exactly
// to the byte.

// ways are settings under which a run takes more memory than its recording.
var ways = []map[string]any{
	{"accumulation": 2.0},
	{"accumulation": 4.0},
	{"dist": map[string]any{"kind": "ddp", "world": 2.0}},
	{"dist": map[string]any{"kind": "ddp", "world": 2.0, "bucket_view": true}},
	{"accumulation": 4.0, "dist": map[string]any{"kind": "ddp", "world": 2.0}},
	{"accumulation": 4.0, "dist": map[string]any{"kind": "ddp", "world": 2.0, "bucket_view": true}},
}

// added returns the errors of estimates that add gradients or buckets to a recording.
func added(ladders []ladder) (out estimate.Range, err error) {
	for _, l := range ladders {
		if (&Row{Fields: l.rows[0].Setup}).Custom() {
			continue
		}
		off, err := l.added()
		if err != nil {
			return out, fmt.Errorf("%s: %w", l.model, err)
		}
		for _, x := range off {
			out = estimate.Range{Cases: out.Cases + 1, Low: min(out.Low, x), High: max(out.High, x)}
		}
	}
	return out, nil
}

func (l *ladder) added() (out []float64, err error) {
	p, err := profile.Fit(l.recorded)
	if err != nil {
		return nil, err
	}
	p.Facts.Accumulation, p.Facts.World = 1, 1
	p.Facts.Gradients, err = gradients(l.rows[0].Setup)
	for _, batch := range l.batches() {
		for _, way := range ways {
			if err != nil {
				return nil, err
			}
			var off float64
			off, err = l.off(p, batch, way)
			out = append(out, off)
		}
	}
	return out, err
}

// batches returns each recorded batch and its doublings, up to the largest measured batch.
func (l *ladder) batches() (out []float64) {
	largest := int64(0)
	for i := range l.rows {
		largest = max(largest, l.rows[i].batch())
	}
	for _, in := range l.recorded {
		for batch := in.At["batch"]; batch <= largest; batch *= 2 {
			out = append(out, float64(batch))
		}
	}
	return out
}

// off returns the difference between the simulated run and the profile's prediction.
func (l *ladder) off(p *profile.Program, batch float64, way map[string]any) (float64, error) {
	card := unlimited(gpu.Reference)
	fields := maps.Clone(way)
	fields["batch"] = batch
	estimated, err := fromProfile(p, fields, card)
	if err != nil {
		return 0, err
	}
	whole := maps.Clone(l.rows[0].Setup)
	maps.Copy(whole, way)
	whole["batch"] = batch
	s, err := setup.Decode(whole, setup.Source{})
	if err != nil {
		return 0, err
	}
	real, err := simulated(s, card)
	return real/float64(estimated.PeakReserved) - 1, err
}

// gradients returns the size of a run's gradients in bytes.
func gradients(fields map[string]any) (uint64, error) {
	s, err := setup.Decode(fields, setup.Source{})
	if err != nil {
		return 0, err
	}
	estimated, err := estimate.Estimate(s, unlimited(gpu.Reference))
	if err != nil {
		return 0, err
	}
	return estimated.Run.Gradients, nil
}

// simulated returns the simulated peak of a run's reserved bytes.
func simulated(s *setup.Setup, card gpu.Card) (float64, error) {
	estimated, err := estimate.Figures(s, card)
	if err != nil {
		return 0, err
	}
	return float64(estimated.PeakReserved), nil
}
