// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"

	"snug/internal/record"
	"snug/internal/units"
)

// progress returns events that print runs as they happen. Steps are shown if the command's own output is
// hidden.
func progress(env Env, steps int, quiet bool) record.Events {
	e := record.Events{
		Say: env.say,
		Started: func(t *record.Trial, n, of int) {
			env.say(fmt.Sprintf("run %d of %d%s: %s", n, of, t.AtSize(), env.screen().Cut(oneRow(t.CommandLine()), 60)))
		},
		Ended: func(t *record.Trial) { env.say(runText(t)) },
	}
	if quiet {
		e.Stepped = func(_ *record.Trial, n int) { env.say(fmt.Sprintf("step %d of %d", n, steps)) }
	}
	return e
}

// runText describes a run in one line.
func runText(t *record.Trial) string {
	text := fmt.Sprintf("%s in %s", counted(len(t.Report.Steps), "step"), roughly(t.Outcome.Took))
	if t.Processes > 1 {
		text += fmt.Sprintf(" in %d processes", t.Processes)
	}
	if peak := t.Report.PeakReserved(); peak > 0 {
		text += fmt.Sprintf(", %v reserved at the peak", units.Bytes(peak))
	}
	return text
}

// roughly formats a duration approximately.
func roughly(d time.Duration) string {
	if d = d.Round(100 * time.Millisecond); d <= 100*time.Millisecond {
		return "under 0.2s"
	}
	return d.String()
}
