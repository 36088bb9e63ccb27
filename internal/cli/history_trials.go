// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snug/internal/store"
	"snug/internal/term"
	"snug/internal/tune"
	"snug/internal/units"
)

const historyTrialsLong = `List the trials of snug tune, including failed ones. Those that fit are also
among the runs of snug history. With --delete, all of them are removed; snug tune
then starts over.`

func newHistoryTrials(env Env) *cobra.Command {
	asJSON, remove := false, false
	cmd := &cobra.Command{
		Use: "trials", Short: "List the trials of snug tune", Long: historyTrialsLong, Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return runHistoryTrials(env, asJSON, remove) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per trial")
	cmd.Flags().BoolVar(&remove, "delete", false, "remove all trials")
	return cmd
}

func runHistoryTrials(env Env, asJSON, remove bool) error {
	if remove {
		return deleteTrials(env)
	}
	trials, err := fromStore(env, func(s *store.Store) ([]store.Trial, error) { return s.Trials("") })
	if err != nil {
		return err
	}
	if asJSON {
		for _, t := range trials {
			if err := printJSON(env.Stdout, t); err != nil {
				return err
			}
		}
		return nil
	}
	if len(trials) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "no trials yet; to run some: snug tune -- <your command>")
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, strings.Join(env.screen().Table(trialsTable(trials)), "\n"))
	return err
}

// trialsTable returns the trials as a table.
func trialsTable(trials []store.Trial) term.Table {
	t := term.Table{Header: []string{"command", "day", "settings", "memory", "predicted", "samples/s"}, Right: []int{3, 4, 5}}
	for _, x := range trials {
		var r tune.Result
		if json.Unmarshal(x.Result, &r) != nil {
			continue
		}
		row := []string{oneRow(x.Command), time.Unix(x.At, 0).UTC().Format("2006-01-02"), oneRow(x.Settings), "", "", outcomeText(r)}
		if r.Reserved > 0 {
			row[3] = units.Bytes(r.Reserved).String()
		}
		if x.Predicted > 0 {
			row[4] = units.Bytes(x.Predicted).String()
		}
		if r.Rate > 0 {
			row[5] = term.ThreeDigits(r.Rate)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// deleteTrials removes all trials.
func deleteTrials(env Env) error {
	n := 0
	if path := store.Path(env.Getenv); store.Exists(path) {
		s, err := store.Open(path)
		if err != nil {
			return err
		}
		defer s.Close()
		if n, err = s.DeleteTrials(""); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(env.Stdout, "%s removed\n", counted(n, "trial"))
	return err
}
