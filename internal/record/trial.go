// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/redact"
	"snug/internal/run"
)

// Trial is one run of the command: Session.Bind prepares it, Session.Run runs it.
type Trial struct {
	At     profile.Point // the size; empty for the unchanged command
	Stacks bool          // stacks are recorded too, which takes time

	Outcome    *run.Outcome // how the run went; nil before it ran
	Report     *run.Report  // the training process that reserved the most; nil if none trained
	Processes  int          // number of processes that trained
	Comparison *Comparison  // nil if there is no estimate to compare it with
	Notes      []string     // remarks about a usable run

	err     error
	command *command
	folder  *run.Folder
	session *Session
}

// Err returns why a finished run is unusable, or nil. For a run that failed with an exit code it is an *ExitError.
func (t *Trial) Err() error { return t.err }

// Discard removes the run's files, including its recording, because the recordings of many runs would fill the disk.
// Data already collected stays available.
func (t *Trial) Discard() error { return t.folder.Remove() }

// CommandLine returns the command with its size as the user would write it: with the user's own names for copied
// files, and without secrets.
func (t *Trial) CommandLine() string {
	return t.session.secrets.Hide(strings.Join(redact.Words(t.command.shown), " "))
}

// OutOfMemory returns the failed request of a process that ran out of GPU memory, or nil.
func (t *Trial) OutOfMemory() *run.Failure {
	if t.Outcome == nil {
		return nil
	}
	for _, x := range t.Outcome.Reports {
		if x.OOM != nil {
			return x.OOM
		}
	}
	return nil
}

// GPU returns the card that a trial ran on, as its driver describes it; nil if the run did not report it.
func (t *Trial) GPU() *run.GPU {
	if t.Report == nil {
		return nil
	}
	return t.Report.GPU
}

// Card returns the card that a trial ran on, from the catalog, or else one with its memory. It is the zero Card if
// the run did not report it.
func (t *Trial) Card() gpu.Card {
	g := t.GPU()
	if g == nil {
		return gpu.Card{}
	}
	card, err := gpu.Find(g.Name)
	if err != nil {
		return gpu.ForMemory(g.Total)
	}
	return card
}

// cardName returns the card's catalog name, or else its driver's name for it; "" if the run did not report it.
func (t *Trial) cardName() string {
	g := t.GPU()
	if g == nil {
		return ""
	}
	if c, err := gpu.Find(g.Name); err == nil {
		return c.Name
	}
	return g.Name
}

// driverName returns the card's name from its driver; "" if the run did not report it.
func (t *Trial) driverName() string {
	if g := t.GPU(); g != nil {
		return g.Name
	}
	return ""
}

// torch returns the PyTorch version without its build suffix.
func (t *Trial) torch() string { return plainVersion(t.Report.Versions["torch"]) }

func plainVersion(v string) string {
	v, _, _ = strings.Cut(v, "+")
	return v
}

// collect finds a run's training process and decides from its report whether the run is usable (verdict.go).
func (t *Trial) collect(out *run.Outcome) {
	t.Outcome = out
	for _, x := range out.Reports {
		if !x.Trained() {
			continue
		}
		t.Processes++
		if t.Report == nil || x.PeakReserved() > t.Report.PeakReserved() {
			t.Report = x
		}
	}
	if err := t.verdict(); err != nil {
		t.err = t.session.hide(err)
	}
}

// AtSize returns the size for use in a sentence, such as " at batch=2"; "" for the unchanged command.
func (t *Trial) AtSize() string {
	if len(t.At) == 0 {
		return ""
	}
	return " at " + t.At.String()
}

// placements describes where values without a placeholder were inserted.
func placements(trials []*Trial) []string {
	var out []string
	for _, t := range trials {
		out = append(out, t.command.placements...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
