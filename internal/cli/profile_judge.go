// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"snug/internal/run"
	"snug/internal/units"
)

// passed is the end of a command that is not snug's to judge: its exit code is
// passed on.
type passed struct {
	code int
	text string
}

func (p passed) Error() string { return p.text }

// reworded is an error with another text and the same exit code.
func reworded(err error, text string) error {
	var own passed
	if errors.As(err, &own) {
		return passed{own.code, text}
	}
	return errors.New(text)
}

// hide takes the command's secrets out of an error.
func (p *profiling) hide(err error) error {
	if text := p.secrets.Hide(err.Error()); text != err.Error() {
		return reworded(err, text)
	}
	return err
}

// judge says whether a run can be used, and if not, what happened.
func (p *profiling) judge(r *measuredRun) error {
	out := r.outcome
	for _, x := range out.Reports {
		for _, f := range x.Failures {
			p.note("the probe failed in %s (%s); the run went on without that", f.Where, f.What)
		}
	}
	switch {
	case out.Stopped != nil:
		return interrupted(out.Stopped)
	case out.TimedOut:
		return fmt.Errorf("%s; give it more with --timeout, or a smaller size", p.tooSlow(r))
	case r.rank == nil:
		return p.untrained(r)
	}
	short := len(r.rank.Steps) < p.options.steps
	if short && (out.Exit.Code != 0 || r.rank.OOM != nil) {
		return orPassed(out.Exit, p.broken(r))
	}
	if r.rank.NoGPU {
		return orPassed(run.Exit{}, fmt.Sprintf("the command took %s%s on the CPU, so that there is no GPU memory to record; does it put its model on the GPU?", counted(len(r.rank.Steps), "step"), named(r.at)))
	}
	if r.rank.Snapshot == nil {
		why := ""
		for _, f := range r.rank.Failures {
			why = fmt.Sprintf("; the probe failed in %s (%s)", f.Where, f.What)
		}
		return orPassed(out.Exit, fmt.Sprintf("the command took %s%s and left no recording; it %s%s", counted(len(r.rank.Steps), "step"), named(r.at), out.Exit, why))
	}
	if short {
		p.note("the command ended by itself after %d of %d steps%s", len(r.rank.Steps), p.options.steps, named(r.at))
	} else if out.Exit.Code != 0 && !out.Lingered {
		p.note("after its %d recorded steps the command %s%s", p.options.steps, out.Exit, named(r.at))
	}
	return nil
}

// interrupted is the end by a signal.
func interrupted(by os.Signal) error {
	return passed{128 + signalNumber(by), "interrupted; no profile was written"}
}

// stacksMayHaveBroken says whether the last run ended in one of the ways in
// which recording stacks, at work inside the allocator, could end it: Python's
// error for an exception lost, a signal that no user sends, or, under a
// launcher, a process that was gone without a word.
func (p *profiling) stacksMayHaveBroken() bool {
	out := p.last().outcome
	if out == nil || out.Exit.Code == 0 || out.Stopped != nil || out.TimedOut {
		return false
	}
	told, silent, lost := false, false, false
	for _, x := range out.Reports {
		told = told || x.OOM != nil || x.Crash != nil
		silent = silent || x.Versions != nil && x.End == ""
		lost = lost || x.Crash != nil && x.Crash.Type == "SystemError"
	}
	return lost || !told && (silent || out.Exit.Crashed())
}

// last is the last of the runs that was started.
func (p *profiling) last() *measuredRun {
	for _, r := range slices.Backward(p.runs) {
		if r.outcome != nil {
			return r
		}
	}
	return &measuredRun{}
}

// orPassed is an error with the command's own exit code, or a plain one where
// the command was content.
func orPassed(e run.Exit, text string) error {
	if e.Code != 0 {
		return passed{e.Code, text}
	}
	return fmt.Errorf("%s", text)
}

func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return 2
}

func (p *profiling) note(format string, args ...any) {
	p.notes = append(p.notes, p.secrets.Hide(fmt.Sprintf(format, args...)))
}

func (p *profiling) tooSlow(r *measuredRun) string {
	steps := 0
	if r.rank != nil {
		steps = len(r.rank.Steps)
	}
	return fmt.Sprintf("the command took %d of %d steps%s in %v and was ended", steps, p.options.steps, named(r.at), p.options.timeout)
}

// broken is a run that ended before its steps.
func (p *profiling) broken(r *measuredRun) string {
	x := r.rank
	did := fmt.Sprintf("the command %s%s after %d of %d steps", r.outcome.Exit, named(r.at), len(x.Steps), p.options.steps)
	switch {
	case x.OOM != nil:
		return fmt.Sprintf("%s: it ran out of GPU memory, asking for %v; record at a smaller size", did, units.Bytes(x.OOM.Asked))
	case x.Crash != nil:
		return did + ": " + failure(x.Crash)
	case r.outcome.Exit.Signal == syscall.SIGKILL:
		return did + "; the system does that where the machine's own memory is full"
	}
	return did
}

func failure(f *run.Failure) string {
	what := strings.TrimSpace(f.What)
	if first, _, more := strings.Cut(what, "\n"); more {
		what = first
	}
	if f.Type == "EOFError" { // of input()
		what += "; it asked for input, and there is none here"
	}
	return f.Type + ": " + what
}
