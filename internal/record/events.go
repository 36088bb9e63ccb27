// SPDX-License-Identifier: Apache-2.0

package record

import "snug/internal/run"

// Events has functions that are called as things happen, one at a time. A nil function is not called.
type Events struct {
	// Say gets a message for the user: a warning, something done unasked, or what the run is waiting for.
	Say func(text string)
	// Started is called when run n of a total begins.
	Started func(t *Trial, n, of int)
	// Stepped is called after each further step of a run.
	Stepped func(t *Trial, steps int)
	// Reported gets what the processes of a run have reported so far, several times a second while it
	// runs.
	Reported func(t *Trial, reports []*run.Report)
	// Ended is called when a run is over and can be used.
	Ended func(t *Trial)
}

func (e Events) say(text string) {
	if e.Say != nil {
		e.Say(text)
	}
}

func (e Events) started(t *Trial, n, of int) {
	if e.Started != nil {
		e.Started(t, n, of)
	}
}

func (e Events) ended(t *Trial) {
	if e.Ended != nil {
		e.Ended(t)
	}
}

// watch returns the function that gets a run's reports while it runs.
func (e Events) watch(t *Trial) func([]*run.Report) {
	told := 0
	return func(reports []*run.Report) {
		if e.Reported != nil {
			e.Reported(t, reports)
		}
		steps := 0
		for _, x := range reports {
			steps = max(steps, len(x.Steps))
		}
		if steps > told && e.Stepped != nil {
			e.Stepped(t, steps)
		}
		told = steps
	}
}
