// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"snug/internal/plan"
	"snug/internal/redact"
	"snug/internal/setup"
	"snug/internal/tune"
)

// tuneJSON is the output of `snug tune --json`.
type tuneJSON struct {
	Command    string          `json:"command"`              // the tuned command, without secrets
	GPU        string          `json:"gpu"`                  // the name of the card
	Limit      uint64          `json:"limit,omitempty"`      // bytes that PyTorch may reserve
	Effective  int             `json:"effective_batch"`      // samples per step
	Recordings int             `json:"recordings,omitempty"` // short runs recorded for the prediction
	Trials     []trialJSON     `json:"trials"`               // in order
	Best       *trialJSON      `json:"best"`                 // null if nothing fits
	Decisions  []decisionJSON  `json:"decisions"`            // in order
	Run        string          `json:"run,omitempty"`        // the command with the best settings, if it has placeholders
	Files      []plan.File     `json:"files,omitempty"`      // the changes to config files
	Applied    bool            `json:"applied,omitempty"`    // whether the changes were written
	Notes      []string        `json:"notes,omitempty"`      // what the user should know
	Candidates []candidateJSON `json:"candidates,omitempty"` // with --dry-run: the candidates, in order
}

type candidateJSON struct {
	Settings  setup.Values `json:"settings"`
	Predicted uint64       `json:"predicted,omitempty"`                    // bytes that PyTorch reserves
	Expected  float64      `json:"predicted_samples_per_second,omitempty"` // samples per second according to the simulation
}

type trialJSON struct {
	candidateJSON
	tune.Result
	Earlier bool `json:"earlier,omitempty"` // it was run by an earlier tune of the same command
}

type decisionJSON struct {
	Decision string       `json:"decision"` // start, step up, step back, try, again, stay, stop
	Why      string       `json:"why"`
	Next     setup.Values `json:"next,omitempty"`
}

func (t *tuner) planJSON() tuneJSON {
	out := tuneJSON{
		Command: strings.Join(redact.Words(t.words), " "), GPU: t.card.Name, Limit: t.limit, Effective: t.climb.Candidates()[0].Effective(),
		Recordings: t.made, Trials: []trialJSON{}, Decisions: []decisionJSON{}, Notes: t.notes,
	}
	for _, c := range t.climb.Candidates() {
		out.Candidates = append(out.Candidates, asCandidate(c))
	}
	return out
}

func asCandidate(c tune.Candidate) candidateJSON {
	return candidateJSON{c.Settings, c.Predicted, c.Expected}
}

// asJSON returns the result in the JSON format.
func (t *tuner) asJSON(files *applyReport) tuneJSON {
	out := t.planJSON()
	out.Candidates, out.Notes, out.Run = nil, t.allNotes(), t.commandLine()
	for _, x := range t.lines {
		out.Trials = append(out.Trials, trialJSON{asCandidate(x.Candidate), x.Result, x.earlier})
	}
	if best := t.climb.Best(); best != nil {
		out.Best = &trialJSON{candidateJSON: asCandidate(best.Candidate), Result: best.Result}
	}
	for _, s := range t.steps {
		d := decisionJSON{Decision: s.Verb, Why: s.Why}
		if s.Next != nil {
			d.Next = s.Next.Settings
		}
		out.Decisions = append(out.Decisions, d)
	}
	if files != nil {
		out.Applied = files.id > 0
		for _, v := range files.change.Values {
			out.Files = append(out.Files, plan.File{Path: v.File, Key: v.Path.String(), From: v.From, To: v.To})
		}
	}
	return out
}
