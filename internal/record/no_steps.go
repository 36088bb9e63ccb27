// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"snug/internal/pattern"
	"snug/internal/run"
)

// noSteps returns an error that says why a run took no training step, as far as that is known.
func (t *Trial) noSteps() error {
	out := t.Outcome
	if i := slices.IndexFunc(out.Reports, func(x *run.Report) bool { return x.End == "nogpu" }); i >= 0 {
		return fmt.Errorf("the command trains%s without a GPU, so there is no GPU memory to record: %s", t.AtSize(), whyNoGPU(out.Reports[i]))
	}
	if out.Unprobed {
		return errors.New("the command overwrites PYTHONPATH, so its Python does not load the probe; append to it instead, like PYTHONPATH=src:$PYTHONPATH")
	}
	if script := t.missingScript(); script != "" {
		return &ExitError{Code: out.Exit.Code, Text: fmt.Sprintf("Python did not find %s; is that the right path, from this folder?", script)}
	}
	if t.lacksTorch() {
		return &ExitError{Code: out.Exit.Code, Text: "this command's Python has no torch; is the right environment active?"}
	}
	why := t.howFar()
	if out.Exit.Code != 0 {
		why += ", and " + out.Exit.String() + t.lastMessage()
	}
	return exitError(out.Exit, "the command "+why)
}

// howFar describes how far a run got before its first step.
func (t *Trial) howFar() string {
	out, launch := t.Outcome, t.session.binder.launch
	failed := out.Exit.Code != 0
	switch {
	case t.OutOfMemory() != nil:
		return "ran out of GPU memory before its first step; record at a smaller size"
	case t.importedTorch() && failed:
		return "imported torch, but no optimizer took a step"
	case t.importedTorch():
		return "imported torch, but no optimizer took a step; is this the command that trains?"
	case len(out.Reports) > 0 && failed:
		return "ran Python, but never imported torch"
	case len(out.Reports) > 0:
		return "ran Python, but never imported torch where the probe could see it; is this the command that trains?"
	case launch.Warning != "":
		return "ran without the probe: " + launch.Warning
	case failed:
		return "started no Python that would load the probe"
	}
	return "started no Python that would load the probe; is this the command that trains, and does the environment (PYTHONPATH) reach its Python?"
}

// lastMessage returns a failed run's last message, after a colon: its exception, or its last line if the user has not
// seen the output.
func (t *Trial) lastMessage() string {
	text := ""
	for _, x := range t.Outcome.Reports {
		if x.Crash != nil {
			text = ": " + crashText(x.Crash)
		}
	}
	if text == "" && t.session.plan.Quiet {
		return lastLine(t.Outcome.Tail)
	}
	return text
}

// lastLine returns the last line that a command printed, after a colon.
func lastLine(tail []byte) string {
	lines := strings.Split(strings.TrimSpace(string(tail)), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" || !utf8.ValidString(last) {
		return ""
	}
	return ": " + last
}

// importedTorch reports whether a process of the run imported PyTorch, as far as the probe could see.
func (t *Trial) importedTorch() bool {
	return slices.ContainsFunc(t.Outcome.Reports, func(x *run.Report) bool { return x.Versions != nil })
}

// torchNotFound matches the message of an interpreter without PyTorch.
var torchNotFound = pattern.New(`(?m)^ModuleNotFoundError: No module named 'torch'$`)

// lacksTorch reports whether the command failed because PyTorch is not installed.
func (t *Trial) lacksTorch() bool {
	out := t.Outcome
	return t.OutOfMemory() == nil && !t.importedTorch() && len(out.Reports) > 0 && out.Exit.Code != 0 && torchNotFound.In(string(out.Tail))
}

// scriptNotFound matches what Python prints before it exits with 2 because its script does not exist. A launcher in
// between has its own exit code.
var scriptNotFound = pattern.New(`(?m)^\S*python\S*: can't open file '([^'\n]+)': \[Errno 2\]`)

// missingScript returns the script that Python did not find, or "" if the command failed for another reason.
func (t *Trial) missingScript() string {
	m := scriptNotFound.Find(string(t.Outcome.Tail))
	if m == nil || t.Outcome.Exit.Code == 0 {
		return ""
	}
	return cmp.Or(t.command.files.local(m[1]), m[1])
}

// whyNoGPU returns why PyTorch has no GPU, and what to do.
func whyNoGPU(x *run.Report) string {
	if x.Versions["cuda"] != "" || x.Versions["hip"] != "" {
		return "PyTorch sees none here; run this on a machine with one"
	}
	return "PyTorch " + x.Versions["torch"] + " is built for CPUs only; run this where PyTorch has CUDA"
}
