// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"slices"
	"strings"

	"snug/internal/redact"
	"snug/internal/run"
	"snug/internal/store"
)

// remember stores what was measured. A failure to do so only adds a note.
func (s *Session) remember(r *Result) {
	if s.env.Store == nil {
		return
	}
	kept, err := s.env.Store()
	if err == nil {
		defer kept.Close() //nolint:errcheck // Add has already written the runs to disk
		var rows []store.Run
		for _, t := range r.Trials {
			rows = append(rows, s.row(t))
		}
		err = kept.Add(rows...)
	}
	if err != nil {
		s.note(r, "not saved in snug history: %v", err)
	}
}

// row returns a measured run as a row of the store.
func (s *Session) row(t *Trial) store.Run {
	x := t.Report
	row := store.Run{
		At: s.env.Now().Unix(), Card: t.cardName(), Torch: t.torch(), CUDA: x.Versions["cuda"], Model: s.commandToKeep(),
		Size: t.At.String(), Allocated: x.PeakAllocated(), Reserved: x.PeakReserved(),
	}
	if !t.Stacks { // recording stacks slows a step down
		row.StepSeconds = x.StepSeconds()
	}
	if c := t.Comparison; c != nil {
		row.Family, row.Model, row.Predicted = c.Setup.Model.Family(), c.Setup.Model.Title(), c.Estimate.PeakReserved
		if text, err := json.Marshal(c.Fields); err == nil {
			row.Setup = string(text)
		}
	}
	return row
}

// commandToKeep returns the command for the store, without its secrets. The script's path is absolute, because every
// project has a train.py.
func (s *Session) commandToKeep() string {
	words := slices.Clone(s.binder.launch.Args)
	if i := run.ScriptIndex(words); i >= 0 && s.binder.files.isRegular(words[i]) {
		words[i] = s.binder.files.absolute(words[i])
	}
	return strings.Join(redact.Words(words), " ")
}
