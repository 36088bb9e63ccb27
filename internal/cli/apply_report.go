// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"snug/internal/config"
	"snug/internal/config/change"
	"snug/internal/setup"
	"snug/internal/term"
)

// applyReport is the report of apply: what it found, planned and wrote, as text and as JSON.
type applyReport struct {
	change *change.Change
	notes  []string
	id     int    // the change's ID in the journal; 0 if nothing was written
	flag   string // the flag that would write; --yes if empty
}

func (r *applyReport) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// plan plans the change.
func (r *applyReport) plan(store *change.Store, project *config.Project, want *wanted) error {
	plan, err := want.plan(project)
	if err != nil {
		return err
	}
	if r.change, err = store.Plan(plan.Edits, plan.Creates); err != nil {
		return err
	}
	r.notes = append(r.notes, briefly(slices.Concat(project.Notes, plan.Notes, r.change.Warnings))...)
	r.notes = append(r.notes, briefly(want.notes)...)
	for _, e := range want.elsewhere {
		r.note("%s does not belong in these files; set it where you start the run", e)
	}
	if len(r.change.Files) > 0 {
		r.notes = append(r.notes, resumed(store, project, want.values)...)
	}
	return nil
}

// resumed warns if a run may be resumed with another batch.
func resumed(store *change.Store, project *config.Project, want setup.Values) []string {
	before := change.Batches{Batch: number(project.Value("batch"), 0), Accumulation: number(project.Value("accumulation"), 1)}
	after := change.Batches{Batch: number(want.Get("batch"), before.Batch), Accumulation: number(want.Get("accumulation"), before.Accumulation)}
	if before == after {
		return nil
	}
	c := store.LastCheckpoint()
	if c == nil {
		return nil
	}
	return c.Warnings(before, after)
}

func number(v any, otherwise int) int {
	if n, ok := v.(int); ok {
		return n
	}
	return otherwise
}

// widestLine is how many bytes of a diff line are shown.
const widestLine = 1000

func (r *applyReport) text(w io.Writer, s term.Screen) error {
	var b strings.Builder
	diff, cut := r.change.Shown(widestLine)
	for line := range strings.Lines(string(diff)) {
		b.WriteString(paintDiff(s, line))
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	notes := r.notes
	if cut > 0 {
		notes = append(slices.Clip(notes), fmt.Sprintf("the diff truncates %s to %s bytes; the files are written in full, and --json has the full diff", counted(cut, "line"), term.Count(widestLine)))
	}
	for _, n := range notes {
		b.WriteString(strings.Join(wrap(strings.Fields("Note: "+n+"."), " ", s.Width), "\n") + "\n")
	}
	b.WriteString(strings.Join(wrap(strings.Fields(r.end()), " ", s.Width), "\n") + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// end returns the last sentence: what was done, and what to do next.
func (r *applyReport) end() string {
	n := len(r.change.Files)
	switch {
	case n == 0:
		return "The files already have these settings; nothing to change."
	case r.id == 0 && n == 1:
		return fmt.Sprintf("Nothing was written. Use %s to make this change.", cmp.Or(r.flag, "--yes"))
	case r.id == 0:
		return fmt.Sprintf("Nothing was written. Use %s to change these %d files.", cmp.Or(r.flag, "--yes"), n)
	case n == 1:
		return "1 file changed. The old one is kept as .backup; snug revert restores it."
	}
	return fmt.Sprintf("%d files changed. The old ones are kept as .backup; snug revert restores them.", n)
}

// paintDiff colors a line of a diff.
func paintDiff(s term.Screen, line string) string {
	text := strings.TrimRight(line, "\r\n")
	ending := line[len(text):]
	switch {
	case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
		return s.Paint(term.Bold, text) + ending
	case strings.HasPrefix(line, "@@"):
		return s.Paint(term.Dim, text) + ending
	case strings.HasPrefix(line, "+"):
		return s.Paint(term.Green, text) + ending
	case strings.HasPrefix(line, "-"):
		return s.Paint(term.Red, text) + ending
	}
	return line
}

// applyAnswer is the JSON of apply.
type applyAnswer struct {
	Written bool          `json:"written"`
	ID      int           `json:"id,omitempty"`
	Files   []applyChange `json:"files"`
	Diff    string        `json:"diff"`
	Notes   []string      `json:"notes"`
}

type applyChange struct {
	Path string `json:"path"`
	Key  string `json:"key"`
	Line int    `json:"line"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (r *applyReport) json(w io.Writer) error {
	a := applyAnswer{Written: r.id > 0, ID: r.id, Files: []applyChange{}, Diff: string(r.change.Diff()), Notes: []string{}}
	for _, v := range r.change.Values {
		a.Files = append(a.Files, applyChange{v.File, v.Path.String(), v.Line, v.From, v.To})
	}
	a.Notes = append(a.Notes, r.notes...)
	return printJSON(w, a)
}
