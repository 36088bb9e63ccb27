// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/store"
	"snug/internal/term"
)

func newHistoryDelete(env Env) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use: "delete NUMBER... | all", Short: "Delete runs by their number in snug history", Args: atLeastOne,
		RunE: func(_ *cobra.Command, args []string) error { return deleteHistory(env, args, yes) },
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "delete all without asking")
	return cmd
}

func atLeastOne(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("delete needs run numbers from snug history, or all")
	}
	return nil
}

func deleteHistory(env Env, args []string, yes bool) error {
	all, err := fromStore(env, (*store.Store).IDs)
	if err != nil {
		return err
	}
	ids, err := chosenRuns(all, args)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		_, err := fmt.Fprintln(env.Stdout, "no measurements yet; nothing to delete")
		return err
	}
	if slices.Contains(args, "all") && !yes {
		if err := env.confirmDelete(len(ids)); err != nil {
			return err
		}
	}
	s, err := store.Open(store.Path(env.Getenv))
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.Delete(ids...)
	if err == nil {
		_, err = fmt.Fprintf(env.Stdout, "%s deleted\n", counted(n, "run"))
	}
	return err
}

// chosenRuns returns the runs with the given numbers, or all of them.
func chosenRuns(all []int64, args []string) ([]int64, error) {
	var ids []int64
	for _, a := range args {
		id, err := strconv.ParseInt(a, 10, 64)
		switch {
		case a == "all":
			ids = append(ids, all...)
		case err != nil || !slices.Contains(all, id):
			return nil, fmt.Errorf("there is no run %s; see the no. column of snug history", a)
		default:
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// confirmDelete asks the user; anything but yes means no. Without a terminal, --yes is required.
func (e Env) confirmDelete(runs int) error {
	if !term.Interactive(e.Stdin) {
		return errors.New("this deletes all runs and cannot be undone; add --yes to confirm")
	}
	fmt.Fprintf(e.Stderr, "delete %s? This cannot be undone. [y/N] ", counted(runs, "run"))
	line, _ := bufio.NewReader(e.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(line)); a != "y" && a != "yes" {
		return errors.New("nothing was deleted")
	}
	return nil
}
