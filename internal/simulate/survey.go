// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"

	"snug/internal/family"
	"snug/internal/script"
	"snug/internal/setup"
)

// maxSurveyed limits the number of events before a script trains, such as those of an evaluation.
const maxSurveyed = 1_000_000

// Survey follows a setup's script only to learn about its run: the model, if the setup has none yet, otherwise
// the sizes of its batches. On an error, it also returns what it had learned by then.
func Survey(s *setup.Setup) (setup.Survey, error) {
	r := &run{s: s, calling: &family.Calling{}}
	r.newWorld()
	r.w.MaxEvents = maxSurveyed
	known := s.Model.Config != nil || s.Model.Name != "" || s.Model.Code
	how := script.Run{
		World: r.w, File: s.Script.File, Args: s.Script.Args, Import: s.Script.Import, Read: s.Script.Read, YAML: setup.DecodeYAML, Accumulation: 1,
		Build: r.maker(), Adapt: r.adapt, Settings: settings(s),
	}
	if known {
		how.Causal, how.Shifts, how.Stored = r.causal(), r.shifts(), r.stored()
		open := *s
		open.Batch, open.Seq, open.TargetSeq = script.OpenBatch, script.OpenSeq, script.OpenSeq
		r.s = &open
		how.Build = r.maker()
		if err := r.fields(&how); err != nil {
			return setup.Survey{}, err
		}
	}
	seen, err := script.Look(how, known)
	return setup.Survey{
		Model: setup.Sighting(seen.Model), Batch: setup.Sighting(seen.Batch), Seq: setup.Sighting(seen.Seq), Image: setup.Sighting(seen.Image), Width: seen.Width, Cut: seen.Cut, Open: seen.Open, UnknownModels: seen.UnknownModels, Why: seen.Why, Code: seen.Code,
	}, unsimulated(err)
}

// unsimulated converts the script's error for a model that no family supports to the setup's error.
func unsimulated(err error) error {
	var no *script.Unsimulated
	if errors.As(err, &no) {
		return setup.Unsimulated(no.Text)
	}
	return err
}
