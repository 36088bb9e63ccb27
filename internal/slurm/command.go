// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// valued are sbatch's one-letter options whose value may be the next word. A long option's value follows = or is the
// next word; long options without a value are in bare.
const valued = "AabBCcdDeFGiJkLmMnNopqStwxd"

var bare = []string{
	"contiguous", "disable-stdout-job-summary", "exclusive", "get-user-env", "hold", "ignore-pbs", "no-kill", "no-requeue", "overcommit",
	"oversubscribe", "parsable", "quiet", "reboot", "requeue", "spread-job", "test-only", "use-min-nodes", "verbose", "wait",
}

// Script returns the index of the batch script in a command's words: after sbatch and its options, or 0 if the command
// begins with the script.
func Script(words []string) (int, error) {
	if len(words) == 0 {
		return 0, errors.New("there is no batch script; write snug tune --launcher slurm -- train.sbatch")
	}
	if filepath.Base(words[0]) != "sbatch" {
		return 0, nil
	}
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch name, _, glued := strings.Cut(strings.TrimLeft(w, "-"), "="); {
		case !strings.HasPrefix(w, "-"):
			return i, nil
		case refused(name) != "":
			return 0, errors.New(refused(name))
		case strings.HasPrefix(w, "--") && !glued && !slices.Contains(bare, name), len(w) == 2 && strings.Contains(valued, w[1:]):
			i++
		}
	}
	return 0, errors.New("sbatch has no script to submit here; name it after sbatch's options: sbatch train.sbatch")
}

// refused returns why an sbatch option cannot be used for trials, or "" if it can.
func refused(option string) string {
	switch option {
	case "array", "a":
		return "a job array (--array) cannot be a trial; remove the option from the script and the command"
	case "wrap":
		return "--wrap leaves no script for snug to fill in; write the command into a batch script and submit that"
	case "test-only":
		return "--test-only runs nothing; remove it"
	}
	return ""
}

// CheckScript returns an error if a script cannot be submitted as a trial.
func CheckScript(name, text string) error {
	if !strings.HasPrefix(text, "#!") {
		return fmt.Errorf("%s does not begin with #!, so sbatch refuses it; begin it with #!/bin/bash", name)
	}
	shell, _, _ := strings.Cut(text, "\n")
	if !isShell(shell) {
		return fmt.Errorf("%s begins with %s; snug needs a shell script to load the probe: begin it with #!/bin/bash and call %[2]s from there", name, strings.TrimSpace(shell[2:]))
	}
	for line := range strings.Lines(head(text)) {
		words, ok := strings.CutPrefix(line, "#SBATCH")
		if !ok {
			continue
		}
		for w := range strings.FieldsSeq(words) {
			option, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
			if why := refused(option); strings.HasPrefix(w, "-") && why != "" {
				return fmt.Errorf("%s: %s", name, why)
			}
			if option == "hetjob" || option == "packjob" {
				return fmt.Errorf("%s: a heterogeneous job (#SBATCH %s) cannot be a trial; submit one component", name, option)
			}
		}
	}
	return nil
}

func isShell(line string) bool {
	for w := range strings.FieldsSeq(strings.TrimPrefix(line, "#!")) {
		if name := filepath.Base(w); name != "env" && !strings.HasPrefix(name, "-") {
			return slices.Contains([]string{"sh", "bash", "dash", "ksh", "zsh"}, name)
		}
	}
	return false
}
