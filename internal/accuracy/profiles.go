// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	"snug/internal/gpu"
	"snug/internal/profile"
)

// Most recordings are too large for this repository. A file summarizes the predictions from all of them by cause; the
// predictions from the available recordings are added to it.

const predictionsFile = "predictions.jsonl"

// cause is a line in predictionsFile.
type cause struct {
	Cause string
	profile.Residual
}

// profileResiduals returns the errors of predictions from recordings.
func profileResiduals(measured fs.FS, ladders []ladder, cases []Case) (r profile.Residuals, err error) {
	causes, err := lines[cause](measured, predictionsFile)
	if err != nil {
		return r, err
	}
	into := map[string]*profile.Residual{"guessed": &r.Guessed, "unlike": &r.Unlike, "smaller": &r.Smaller}
	for _, c := range causes {
		if into[c.Cause] == nil {
			return r, fmt.Errorf("%s: %q is not a cause", predictionsFile, c.Cause)
		}
		*into[c.Cause] = c.Residual
	}
	seen, err := guesses(ladders)
	if err != nil {
		return r, err
	}
	r.Guessed.Low, r.Guessed.High = min(r.Guessed.Low, seen.Low), max(r.Guessed.High, seen.High)
	r.FlashLost, r.FlashGained, err = flash(cases)
	return r, err
}

// guesses returns the errors of predictions for unmeasured convolutions.
func guesses(ladders []ladder) (out profile.Residual, err error) {
	for _, l := range ladders {
		p, err := profile.FitUnmeasured(l.recorded)
		if err != nil {
			return out, err
		}
		for i := range l.rows {
			r, err := l.rows[i].predicted(p)
			if err != nil {
				return out, err
			}
			if slices.Contains(r.Causes, profile.Workspaces) {
				out = out.With(float64(r.Real)/float64(r.Predicted) - 1)
			}
		}
	}
	return out, nil
}

// Compute capabilities without and with flash attention that otherwise differ little.
const (
	beforeFlash = 75
	sinceFlash  = 80
)

// flash returns the simulated effect of losing flash attention, and of gaining it.
func flash(cases []Case) (lost, gained profile.Residual, err error) {
	for i := range cases {
		c := &cases[i]
		if c.File != devFile || c.Setup == nil {
			continue
		}
		without, err := c.reserves(beforeFlash)
		if err != nil {
			return lost, gained, err
		}
		with, err := c.reserves(sinceFlash)
		if err != nil {
			return lost, gained, err
		}
		lost, gained = lost.With(without/with-1), gained.With(with/without-1)
	}
	return lost, gained, nil
}

// reserves returns the bytes that the run would reserve on a card like the reference but with another compute
// capability.
func (c *Case) reserves(capability int) (float64, error) {
	card := unlimited(gpu.Reference)
	card.Capability = capability
	return simulated(c.Setup, card)
}

// ProfileResiduals returns the table behind the intervals of recorded runs, as JSON.
func (r *Report) ProfileResiduals() ([]byte, error) {
	t := r.Recorded
	for _, x := range []*profile.Residual{&t.Guessed, &t.Unlike, &t.Smaller, &t.FlashLost, &t.FlashGained} {
		x.Low, x.High = outwards(x.Low, x.High)
	}
	out, err := json.MarshalIndent(t, "", " ")
	return append(out, '\n'), err
}
