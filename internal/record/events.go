// SPDX-License-Identifier: Apache-2.0

package record

import "snug/internal/run"

// Events tells what happens while it happens, one after the other. A function that
// is nil is not called.
type Events struct {
	// Say is given a sentence for the user: what is done unasked, a warning, what the
	// run waits for.
	Say func(text string)
	// Started is told that run n of so many begins.
	Started func(t *Trial, n, of int)
	// Stepped is told of each further step of a run.
	Stepped func(t *Trial, steps int)
	// Reported is given what the processes of a run have told so far, several times a
	// second as long as it goes on.
	Reported func(t *Trial, reports []*run.Report)
	// Ended is told of a run that is over and can be used.
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

// watch is what the reports of a run are given to while it goes on.
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
