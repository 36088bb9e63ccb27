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
	At     profile.Point // the size; empty for the command as it is
	Stacks bool          // where allocations come from is recorded too, which takes time

	Outcome    *run.Outcome // how the run went; nil before it ran
	Report     *run.Report  // of the processes that trained, the one that reserved the most; nil if none did
	Processes  int          // how many trained
	Comparison *Comparison  // nil if there is no estimate to compare it with
	Notes      []string     // what is worth knowing about a run that can be used

	err     error
	command *command
	folder  *run.Folder
	session *Session
}

// Err says why a finished run cannot be used; nil if it can. For a run that failed with an exit code it
// is an *ExitError.
func (t *Trial) Err() error { return t.err }

// Discard removes the run's files, including its recording, because the recordings of many runs would fill
// the disk. Collected data is kept.
func (t *Trial) Discard() error { return t.folder.Remove() }

// CommandLine returns the command with its size, as the user would write it: with the user's own names of
// files that were copied, and without secrets.
func (t *Trial) CommandLine() string {
	return t.session.secrets.Hide(strings.Join(redact.Words(t.command.shown), " "))
}

// OutOfMemory returns the failed request of a process that ran out of GPU memory; nil if none did.
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

// GPU returns the card that a trial trained on, as its driver describes it; nil if the run did not report it.
func (t *Trial) GPU() *run.GPU {
	if t.Report == nil {
		return nil
	}
	return t.Report.GPU
}

// Card returns the card that a trial trained on, from the catalogue, or else one with its memory. It is the
// zero Card if the run did not report it.
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

// cardName returns the card as the catalogue names it, or as its driver does; "" if the run did not report
// it.
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

// torch returns the version of PyTorch without its build.
func (t *Trial) torch() string { return plainVersion(t.Report.Versions["torch"]) }

func plainVersion(v string) string {
	v, _, _ = strings.Cut(v, "+")
	return v
}

// collect finds the process of a run that trained, and judges the run by it (verdict.go).
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

// AtSize returns the size within a sentence, " at batch=2"; "" for the command as it is.
func (t *Trial) AtSize() string {
	if len(t.At) == 0 {
		return ""
	}
	return " at " + t.At.String()
}

// placements lists the values that were put somewhere without a placeholder.
func placements(trials []*Trial) []string {
	var out []string
	for _, t := range trials {
		out = append(out, t.command.placements...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
