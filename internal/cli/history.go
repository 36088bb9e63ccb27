// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snug/internal/store"
	"snug/internal/term"
	"snug/internal/units"
)

const historyLong = `List the runs measured on this machine, and the error of each estimate.

Every run of snug profile is kept in one SQLite file, in ~/.local/share/snug or
at SNUG_STORE. Once there are three runs for the same card, PyTorch and kind of
model, estimates base their interval on them. Nothing leaves the machine unless
you export it. On another machine, import adds the exported runs.`

func newHistory(env Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "history",
		Short:   "List earlier measurements on this machine",
		Long:    historyLong,
		Example: "  snug history\n  snug history export runs.jsonl\n  snug history delete 3 4",
		Args:    noSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return runHistory(env, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per run")
	cmd.AddCommand(
		newHistoryExport(env),
		&cobra.Command{
			Use: "import FILE", Short: "Add runs from an export (- is standard input)", Args: exactlyOne,
			RunE: func(_ *cobra.Command, args []string) error { return importHistory(env, args[0]) },
		},
		newHistoryTrials(env),
		newHistoryDelete(env))
	return cmd
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("unexpected argument %q; see %s --help", args[1], cmd.CommandPath())
	}
	return nil
}

func exactlyOne(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s needs a file; see %s --help", cmd.Name(), cmd.CommandPath())
	}
	return atMostOne(cmd, args)
}

// pastRuns returns all runs in the store.
func pastRuns(env Env) ([]store.Run, error) { return fromStore(env, (*store.Store).List) }

// fromStore reads from the store. A missing store counts as empty.
func fromStore[T any](env Env, read func(*store.Store) ([]T, error)) ([]T, error) {
	path := store.Path(env.Getenv)
	if !store.Exists(path) {
		return nil, nil
	}
	s, err := store.Read(path, 5*time.Second)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return read(s)
}

func runHistory(env Env, asJSON bool) error {
	runs, err := pastRuns(env)
	if err != nil {
		return err
	}
	if asJSON {
		return writeRuns(env.Stdout, runs)
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "no measurements yet; to make one: snug profile -- <your command>")
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, strings.Join(env.screen().Table(historyTable(runs)), "\n"))
	if err != nil {
		return err
	}
	trials, err := fromStore(env, func(s *store.Store) ([]store.Trial, error) { return s.Trials("") })
	if err != nil || len(trials) == 0 {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "\n%s of snug tune; snug history trials lists them\n", counted(len(trials), "trial"))
	return err
}

// historyTable returns the runs as a table. It has an estimate column only if there are any estimates, to
// leave space for names.
func historyTable(runs []store.Run) term.Table {
	t := term.Table{Header: []string{"model", "no.", "day", "size", "card", "PyTorch", "reserved", "estimate"}, Right: []int{1, 6, 7}}
	if !slices.ContainsFunc(runs, func(r store.Run) bool { return missed(r) != "" }) {
		t.Header = t.Header[:len(t.Header)-1]
	}
	names := runNames(runs)
	for i, r := range runs {
		row := []string{
			names[i], fmt.Sprint(r.ID), time.Unix(r.At, 0).UTC().Format("2006-01-02"), oneRow(r.Size), oneRow(r.Card), oneRow(r.Torch), units.Bytes(r.Reserved).String(), missed(r),
		}
		t.Rows = append(t.Rows, row[:len(t.Header)])
	}
	return t
}

// missed returns the error of a run's estimate as text.
func missed(r store.Run) string {
	if r.Predicted == 0 || r.Reserved == 0 {
		return ""
	}
	return offBy(r.Predicted, r.Reserved)
}

func writeRuns(w io.Writer, runs []store.Run) error {
	for _, r := range runs {
		if err := printJSON(w, struct {
			ID int64 `json:"id"`
			store.Run
		}{r.ID, r}); err != nil {
			return err
		}
	}
	return nil
}
