// SPDX-License-Identifier: Apache-2.0

package record

import "snug/internal/run"

// Events contains callbacks, called one at a time. Nil callbacks are skipped.
type Events struct {
	// Say gets a message for the user: a warning, something done unasked, or what the run is waiting for.
	Say func(text string)
	// Started is called when a run begins; n counts the runs from 1, and of is their total.
	Started func(t *Trial, n, of int)
	// Stepped is called after each step of a run.
	Stepped func(t *Trial, steps int)
	// Reported gets everything that a run's processes have reported so far, several times a second during the run.
	Reported func(t *Trial, reports []*run.Report)
	// Ended is called when a run is over and its recording is usable.
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

// watch returns the function that receives a run's reports while it runs.
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
