// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"slices"
	"strings"
)

// A job does not inherit snug's environment if its script uses --export=NONE or the site sets its own, so the probe is
// loaded in the script itself, before its first command. If Slurm restarts the job, reports from the first start are
// removed, so that they do not mix with those of the second. The exit code is saved because Slurm without accounting
// forgets a job after some minutes.
const prologue = `# Added by snug: the probe. If Slurm restarts this job, its earlier reports are removed.
export SNUG_RUN=FOLDER PYTHONPATH=FOLDER"${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || rm -f "$SNUG_RUN"/*.jsonl "$SNUG_RUN"/*.pickle "$SNUG_RUN"/*.here "$SNUG_RUN/last_step" "$SNUG_RUN/exit"
trap 'echo $? > "$SNUG_RUN/exit"' EXIT
`

// withProbe returns a batch script that loads the probe and sets the given variables.
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

// head returns the lines before a script's first command, where sbatch looks for options.
func head(text string) string {
	n := 0
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "#") {
			break
		}
		n += len(line)
	}
	if n > 0 && text[n-1] != '\n' { // the script has no command
		return text[:strings.LastIndex(text[:n], "\n")+1]
	}
	return text[:n]
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// MapWords returns a script with each word replaced by the result of f.
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

// Words returns the words of a script that may be file names or values. It splits the script at blanks, quotes and
// command separators.
func Words(text string) []string {
	words := strings.FieldsFunc(text, isSeparator)
	slices.Sort(words)
	return slices.Compact(words)
}
