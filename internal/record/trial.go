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
	Report     *run.Report  // of the processes that trained, the one that reserved the most; nil where none did
	Processes  int          // how many trained
	Comparison *Comparison  // nil where there is nothing to compare it with
	Notes      []string     // what Err has noticed

	command *command
	folder  *run.Folder
	session *Session
}

// CommandLine is the command with its size in it, as the user would write it: with
// the user's own names of files that were copied, and without secrets.
func (t *Trial) CommandLine() string {
	return t.session.secrets.Hide(strings.Join(redact.Words(t.command.shown), " "))
}

// OutOfMemory is what a process of the run asked for when it ran out of GPU memory,
// nil where none did.
func (t *Trial) OutOfMemory() *run.Failure {
	for _, x := range t.Outcome.Reports {
		if x.OOM != nil {
			return x.OOM
		}
	}
	return nil
}

// Card is the GPU that a trial trained on: from the catalogue, or else one of its
// size.
func (t *Trial) Card() gpu.Card {
	card, err := gpu.Find(t.Report.GPU.Name)
	if err != nil {
		return gpu.ForMemory(t.Report.GPU.Total)
	}
	return card
}

// cardName is the GPU as the catalogue names it, or as its driver does; "" where the
// run did not say.
func (t *Trial) cardName() string {
	if t.Report.GPU == nil {
		return ""
	}
	if c, err := gpu.Find(t.Report.GPU.Name); err == nil {
		return c.Name
	}
	return t.Report.GPU.Name
}

// torch is the version of PyTorch without its build.
func (t *Trial) torch() string { return plainVersion(t.Report.Versions["torch"]) }

func plainVersion(v string) string {
	v, _, _ = strings.Cut(v, "+")
	return v
}

// collect finds among the processes of a run the one that counts.
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
}

// atSize is the size in a sentence.
func (t *Trial) atSize() string {
	if len(t.At) == 0 {
		return ""
	}
	return " at " + t.At.String()
}

// placements says what was put where without having been asked for by a placeholder.
func placements(trials []*Trial) []string {
	var out []string
	for _, t := range trials {
		out = append(out, t.command.placements...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
