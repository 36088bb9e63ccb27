// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snug/internal/config/change"
	"snug/internal/term"
)

type revertOptions struct {
	folder string
	steps  int
	list   bool
	force  bool
	json   bool
}

const revertLong = `Undo the changes made by snug apply. The files are restored byte for byte.

A change that was interrupted, by a crash or a full disk, is undone first. Files
that were edited since are only overwritten with --force.`

const revertExample = `  snug revert
  snug revert --list
  snug revert --changes 3`

func newRevert(env Env) *cobra.Command {
	var o revertOptions
	cmd := &cobra.Command{
		Use:     "revert",
		Short:   "Undo the changes made by snug apply",
		Long:    revertLong,
		Example: revertExample,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runRevert(env, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.steps, "changes", 1, "`number` of changes to undo")
	alsoCalled(cmd, "changes", "steps")
	f.BoolVar(&o.list, "list", false, "list the changes that can be undone")
	f.BoolVar(&o.force, "force", false, "overwrite files that were edited since")
	f.StringVar(&o.folder, "dir", ".", "project `folder`")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func runRevert(env Env, o revertOptions) error {
	if o.steps < 1 {
		return fmt.Errorf("--changes is %d; it must be at least 1", o.steps)
	}
	if err := env.checkFolder(o.folder); err != nil {
		return err
	}
	store, err := change.Open(o.folder, change.Options{})
	if err != nil {
		return err
	}
	if o.list {
		return listChanges(env, store, o.json)
	}
	back, err := store.Revert(o.steps, o.force)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(env.Stdout, revertAnswer{Changes: revertEntries(back.Entries), Interrupted: back.Interrupted})
	}
	return printReverted(env.Stdout, env.screen(), back)
}

// listChanges shows the changes that can be reverted, and reports a journal that belongs to another
// folder.
func listChanges(env Env, store *change.Store, asJSON bool) error {
	entries, err := store.List()
	if err != nil {
		return err
	}
	foreign, err := store.Foreign()
	if err != nil {
		return err
	}
	if asJSON {
		answer := revertAnswer{Changes: revertEntries(entries)}
		if foreign != "" {
			answer.Notes = []string{foreign}
		}
		return printJSON(env.Stdout, answer)
	}
	if err := printChanges(env.Stdout, env.screen(), entries); err != nil || foreign == "" {
		return err
	}
	return printLines(env.Stdout, wrap(strings.Fields("Note: "+foreign+"."), " ", env.screen().Width))
}

// printReverted prints what was reverted.
func printReverted(w io.Writer, s term.Screen, back change.Reverted) error {
	var b strings.Builder
	if len(back.Entries) == 0 {
		b.WriteString("An interrupted revert is now complete; no files were left to restore.\n")
	}
	for i, e := range back.Entries {
		what := fmt.Sprintf("Reverted change %d", e.ID)
		if back.Interrupted && i == 0 {
			what = fmt.Sprintf("Reverted change %d, which had been interrupted", e.ID)
		}
		text := fmt.Sprintf("%s (%s): %s.", what, e.Note, strings.Join(e.Paths(), ", "))
		b.WriteString(strings.Join(wrap(strings.Fields(text), " ", s.Width), "\n") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printChanges lists changes, newest first.
func printChanges(w io.Writer, s term.Screen, entries []*change.Entry) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "There are no changes to undo here.")
		return err
	}
	t := term.Table{Header: []string{"what", "step", "when", "files"}, Right: []int{1}}
	for i, e := range entries {
		t.Rows = append(t.Rows, []string{e.Note, strconv.Itoa(i + 1), e.Time.Local().Format("2006-01-02 15:04"), filesText(e.Paths())})
	}
	_, err := fmt.Fprintln(w, strings.Join(s.Table(t), "\n"))
	return err
}

// filesText returns the name of the file, or the number of files.
func filesText(paths []string) string {
	if len(paths) == 1 {
		return paths[0]
	}
	return fmt.Sprintf("%d files", len(paths))
}

// revertAnswer is the JSON of revert.
type revertAnswer struct {
	Changes     []revertEntry `json:"changes"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Notes       []string      `json:"notes,omitempty"`
}

type revertEntry struct {
	ID    int       `json:"id"`
	Time  time.Time `json:"time"`
	Note  string    `json:"note"`
	Files []string  `json:"files"`
}

func revertEntries(entries []*change.Entry) []revertEntry {
	out := []revertEntry{}
	for _, e := range entries {
		out = append(out, revertEntry{e.ID, e.Time, e.Note, e.Paths()})
	}
	return out
}
