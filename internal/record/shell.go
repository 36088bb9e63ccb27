// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/pattern"
)

// A shell script must not notice that one of its values was changed for a run: scripts contain cd "$(dirname "$0")",
// and source files next to them. A copy elsewhere would break that, and a copy next to the script would be a file in
// the user's folder. So there is no copy: the shell gets the changed text itself, and the script's own path as $0.
//
//	bash -e train.sh a b    bash -e -c TEXT train.sh a b
//	./train.sh a b          /usr/bin/env bash -c TEXT ./train.sh a b
//
// BASH_SOURCE is then empty; in a script that is run it equals $0, so the text uses $0 instead. A script that starts
// itself again is refused, because it would start the unchanged file.

// longestWord is the length of the longest argument that Linux accepts, including its terminator.
const longestWord = 128<<10 - 1

// runText makes the command run a changed script. It returns false if the command does not run the script directly.
func (c *command) runText(program int, file string, data []byte) (bool, error) {
	at := slices.IndexFunc(c.args, func(w string) bool { return c.files.local(w) == file })
	if at < 0 {
		return false, nil
	}
	text := bashSource.Regexp().ReplaceAllString(string(data), "${1}0$2")
	shell := c.shellOf(program, at, text)
	switch {
	case at == program && (!c.files.isExecutable(file) || !strings.HasPrefix(text, "#!")):
		return true, nil // leave the command unchanged; the system reports why it cannot be started
	case shell == nil && usesOwnPath.In(text):
		return false, fmt.Errorf("%s uses its own path ($0), which a changed copy cannot provide in this command; %s", file, fromOutside)
	case shell == nil:
		return false, nil
	case startsItself(text):
		return false, fmt.Errorf("%s starts itself again ($0), which would lose the change; %s", file, fromOutside)
	case len(text) >= longestWord:
		return false, fmt.Errorf("%s is too long to run with a changed value; %s", file, fromOutside)
	}
	c.args = slices.Concat(shell, []string{"-c", text}, c.args[at:])
	return true, nil
}

const fromOutside = "let it read a variable, like BATCH=${BATCH:-8}, and put BATCH={batch} before the command"

// bashSource matches BASH_SOURCE if it means the script's own path, like $0.
var bashSource = pattern.New(`(\$\{?)BASH_SOURCE(?:\[(?:0|-1)\])?([^\[\w]|$)`)

// usesOwnPath matches uses of a script's own path.
var usesOwnPath = pattern.New(`\$(?:0\b|\{0\b)`)

// shellOf returns the command's words up to and including the shell that runs the script and its options; nil if no
// shell runs the script.
func (c *command) shellOf(program, at int, text string) []string {
	switch {
	case at == program:
		if shell := interpreter(text); shell != nil {
			return slices.Concat(c.args[:at], shell)
		}
	case at > program && isShell(c.args[program]) && at == program+1+shellOptions(c.args[program+1:]):
		if c.args[at-1] == "--" {
			at--
		}
		return slices.Clone(c.args[:at])
	}
	return nil
}

// posixShells are the shells that accept sh -c TEXT NAME ARGUMENTS.
var posixShells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}

func isShell(word string) bool { return slices.Contains(posixShells, filepath.Base(word)) }

// interpreter returns the shell that a script's first line names, with its options; nil if it names something else.
func interpreter(text string) []string {
	line, _, _ := strings.Cut(text, "\n")
	line, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(line)
	if !ok || len(words) == 0 {
		return nil
	}
	shell := words[0]
	if filepath.Base(shell) == "env" {
		rest := words[1:]
		for len(rest) > 0 && rest[0] == "-S" {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		shell, words = rest[0], append([]string{words[0]}, rest...)
	}
	if !isShell(shell) {
		return nil
	}
	return words
}

// shellOptions returns the number of words before the script that are the shell's options and their values.
func shellOptions(words []string) int {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--":
			return i + 1
		case w == "--rcfile" || w == "--init-file":
			i++
		case strings.HasPrefix(w, "--"):
		case w == "" || w[0] != '-' && w[0] != '+':
			return i
		case strings.ContainsAny(w, "cs"):
			return -1 // with -c or -s, the shell does not run a file
		case strings.ContainsAny(w, "oO"): // the next word is this option's value, as in -euo pipefail
			i++
		}
	}
	return len(words)
}

var (
	startsOwnPath   = pattern.New(`(?:\b(?:then|do|else|exec|source|bash|sh|dash|zsh|nohup|setsid|srun|sbatch|time)|^\.|[;&|(])\s+(?:-\S+\s+)*"?\$(?:0\b|\{0\})`)
	passesArguments = pattern.New(`(?:^"\$\{?0\}?")|\$\{?0\}?"?\s.*\$[@*]`)
)

// startsItself reports whether a script runs its own file.
func startsItself(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		printed := slices.ContainsFunc([]string{"#", "echo", "printf"}, func(p string) bool { return strings.HasPrefix(line, p) })
		if !printed && (startsOwnPath.In(line) || passesArguments.In(line)) {
			return true
		}
	}
	return false
}
