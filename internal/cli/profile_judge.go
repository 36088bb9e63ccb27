// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"regexp"
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
		return passed{128 + signalNumber(out.Stopped), "interrupted; no profile was written"}
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
		return orPassed(run.Exit{}, fmt.Sprintf("the command took %s%s on the CPU, so that there is no GPU memory to record; does it put its model on the GPU, and on this machine?", counted(len(r.rank.Steps), "step"), named(r.at)))
	}
	if r.rank.Snapshot == nil {
		return orPassed(out.Exit, fmt.Sprintf("the command took %d steps%s and left no recording; it %s", len(r.rank.Steps), named(r.at), out.Exit))
	}
	if short {
		p.note("the command ended by itself after %d of %d steps%s", len(r.rank.Steps), p.options.steps, named(r.at))
	} else if out.Exit.Code != 0 && !out.Lingered {
		p.note("after its %d recorded steps the command %s%s", p.options.steps, out.Exit, named(r.at))
	}
	return nil
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
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
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
	}
	return did
}

func failure(f *run.Failure) string {
	what := strings.TrimSpace(f.What)
	if first, _, more := strings.Cut(what, "\n"); more {
		what = first
	}
	return f.Type + ": " + what
}

// built is why PyTorch has no GPU, and what to do.
func built(x *run.Report) string {
	if x.Versions["cuda"] != "" || x.Versions["hip"] != "" {
		return "PyTorch sees none here; run this on a machine with one"
	}
	return "PyTorch " + x.Versions["torch"] + " is built for CPUs alone; run this where PyTorch has CUDA"
}

// cannotOpen is what Python prints, and exits with 2, where its script is not
// there; a launcher in between has an exit code of its own.
var cannotOpen = regexp.MustCompile(`(?m)^\S*python\S*: can't open file '([^'\n]+)': \[Errno 2\]`)

// notFound is the script that Python did not find, "" where that is not why the
// command failed.
func notFound(out *run.Outcome) string {
	m := cannotOpen.FindSubmatch(out.Tail)
	if m == nil || out.Exit.Code == 0 {
		return ""
	}
	if name := local(string(m[1])); name != "" {
		return name
	}
	return string(m[1])
}

// noTorch is what an interpreter says that PyTorch is not installed for.
var noTorch = regexp.MustCompile(`(?m)^ModuleNotFoundError: No module named 'torch'$`)

// untrained is a run without a single step.
func (p *profiling) untrained(r *measuredRun) error {
	out := r.outcome
	if i := slices.IndexFunc(out.Reports, func(x *run.Report) bool { return x.End == "nogpu" }); i >= 0 {
		return fmt.Errorf("the command trains%s without a GPU, so that there is no GPU memory to record: %s", named(r.at), built(out.Reports[i]))
	}
	if script := notFound(out); script != "" {
		return passed{out.Exit.Code, fmt.Sprintf("Python did not find %s; is that the right path, from this folder?", script)}
	}
	torch, crash, oom := false, "", false
	for _, x := range out.Reports {
		torch = torch || x.Versions != nil
		oom = oom || x.OOM != nil
		if x.Crash != nil {
			crash = ": " + failure(x.Crash)
		}
	}
	why := ""
	switch {
	case oom:
		why = "ran out of GPU memory before its first step; record at a smaller size"
	case torch && out.Exit.Code != 0:
		why = "imported torch, but no optimizer took a step"
	case torch:
		why = "imported torch, but no optimizer took a step; is this the command that trains?"
	case len(out.Reports) > 0 && out.Exit.Code != 0 && noTorch.Match(out.Tail):
		return passed{out.Exit.Code, "the Python of this command has no torch; is the right environment active?"}
	case len(out.Reports) > 0:
		why = "ran Python, but never imported torch"
	case p.launch.Warning != "":
		why = "ran without the probe: " + p.launch.Warning
	default:
		why = "started no Python that would load the probe"
	}
	if out.Exit.Code != 0 {
		why += ", and " + out.Exit.String() + crash
	}
	return orPassed(out.Exit, "the command "+why)
}
