// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// noSuchCommand is the root's check of its arguments: whatever is left is a
// command that does not exist.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("unknown command %q%s", args[0], didYouMean(args[0], names, "see snug --help"))
}

// flagError makes one line of a flag that does not exist or has a bad value.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "unknown flag: --")
	if !unknown {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return fmt.Errorf("unknown flag --%s%s", name, didYouMean("--"+name, names, "see "+cmd.CommandPath()+" --help"))
}

// didYouMean is a suggestion, or else where to look.
func didYouMean(got string, names []string, otherwise string) string {
	best, least := "", len(got)/3+2
	for _, n := range names {
		if d := distance(got, n); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return "; " + otherwise
	}
	return "; did you mean " + best + "?"
}

// distance is the number of letters to add, drop or change (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
