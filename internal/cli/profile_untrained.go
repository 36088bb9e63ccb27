// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"snug/internal/pattern"
	"snug/internal/run"
)

// built is why PyTorch has no GPU, and what to do.
func built(x *run.Report) string {
	if x.Versions["cuda"] != "" || x.Versions["hip"] != "" {
		return "PyTorch sees none here; run this on a machine with one"
	}
	return "PyTorch " + x.Versions["torch"] + " is built for CPUs alone; run this where PyTorch has CUDA"
}

// cannotOpen is what Python prints, and exits with 2, where its script is not
// there; a launcher in between has an exit code of its own.
var cannotOpen = pattern.New(`(?m)^\S*python\S*: can't open file '([^'\n]+)': \[Errno 2\]`)

// notFound is the script that Python did not find, "" where that is not why the
// command failed.
func notFound(out *run.Outcome) string {
	m := cannotOpen.Find(string(out.Tail))
	if m == nil || out.Exit.Code == 0 {
		return ""
	}
	if name := local(m[1]); name != "" {
		return name
	}
	return m[1]
}

// noTorch is what an interpreter says that PyTorch is not installed for.
var noTorch = pattern.New(`(?m)^ModuleNotFoundError: No module named 'torch'$`)

// lastWords is the last line that a command has printed, behind a colon.
func lastWords(tail []byte) string {
	lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" || !utf8.ValidString(last) {
		return ""
	}
	return ": " + oneLine(last)
}

// untrained is a run without a single step.
func (p *profiling) untrained(r *measuredRun) error {
	out := r.outcome
	if i := slices.IndexFunc(out.Reports, func(x *run.Report) bool { return x.End == "nogpu" }); i >= 0 {
		return fmt.Errorf("the command trains%s without a GPU, so that there is no GPU memory to record: %s", named(r.at), built(out.Reports[i]))
	}
	if out.Unprobed {
		return errors.New("the command's Python runs without the probe: PYTHONPATH is set anew on the way to it; have it add to that, as in PYTHONPATH=src:$PYTHONPATH")
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
	case len(out.Reports) > 0 && out.Exit.Code != 0 && noTorch.In(string(out.Tail)):
		return passed{out.Exit.Code, "the Python of this command has no torch; is the right environment active?"}
	case len(out.Reports) > 0 && out.Exit.Code != 0:
		why = "ran Python, but never imported torch"
	case len(out.Reports) > 0:
		why = "ran Python, but never imported torch where the probe could see it; is this the command that trains?"
	case p.launch.Warning != "":
		why = "ran without the probe: " + p.launch.Warning
	case out.Exit.Code != 0:
		why = "started no Python that would load the probe"
	default:
		why = "started no Python that would load the probe; is it the one that trains, and does the environment (PYTHONPATH) reach its Python?"
	}
	if out.Exit.Code != 0 {
		if crash == "" && p.options.quiet { // nobody has seen what it said
			crash = lastWords(out.Tail)
		}
		why += ", and " + out.Exit.String() + crash
	}
	return orPassed(out.Exit, "the command "+why)
}
