// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"slices"
	"strings"
)

// The environment of a job is not that of snug: a script may say --export=NONE, and sites set their own. So the probe
// goes into the script itself, before its first command. If Slurm starts the job again, reports of the first start
// would be taken for those of the second, so they are removed. The exit code is written down because Slurm forgets a
// job after some minutes where it keeps no accounts.
const prologue = `# Added by snug: the probe. If Slurm starts this job again, its first reports do not count.
export SNUG_RUN=FOLDER PYTHONPATH=FOLDER"${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || rm -f "$SNUG_RUN"/*.jsonl "$SNUG_RUN"/*.pickle "$SNUG_RUN"/*.here "$SNUG_RUN/last_step" "$SNUG_RUN/exit"
trap 'echo $? > "$SNUG_RUN/exit"' EXIT
`

// withProbe returns a batch script with the probe in it, and with variables that it should see.
func withProbe(text, folder string, env []string) string {
	added := strings.ReplaceAll(prologue, "FOLDER", quoted(folder))
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		if name == "PYTHONPATH" {
			value = quoted(folder+":"+value) + `"${PYTHONPATH:+:$PYTHONPATH}"`
		} else {
			value = quoted(value)
		}
		added += "export " + name + "=" + value + "\n"
	}
	at := len(head(text))
	return text[:at] + added + text[at:]
}

// head returns the lines of a script before its first command: sbatch reads options from them.
func head(text string) string {
	n := 0
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") {
			break
		}
		n += len(line)
	}
	if n > 0 && text[n-1] != '\n' { // a script without a command
		return text[:strings.LastIndex(text[:n], "\n")+1]
	}
	return text[:n]
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// MapWords returns a script with each of its words replaced by what f returns for it.
func MapWords(text string, f func(word string) string) string {
	var b strings.Builder
	for text != "" {
		n := strings.IndexFunc(text, isSeparator)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(f(text[:n]))
		text = text[n:]
		n = strings.IndexFunc(text, func(r rune) bool { return !isSeparator(r) })
		if n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

func isSeparator(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;&|()<>", r) }

// Words returns the words of a script that may name a file or have a value: it is split at blanks, quotes and what
// separates commands.
func Words(text string) []string {
	words := strings.FieldsFunc(text, isSeparator)
	slices.Sort(words)
	return slices.Compact(words)
}
