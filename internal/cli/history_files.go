// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"snug/internal/store"
)

// History is exported to and imported from a file with one run per line.

func newHistoryExport(env Env) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Write all runs, one JSON object per line", Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error { return exportHistory(env, args, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

func exportHistory(env Env, args []string, force bool) error {
	runs, err := pastRuns(env)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, r := range runs {
		if err := printJSON(&b, r); err != nil {
			return err
		}
	}
	if len(args) == 0 || args[0] == "-" {
		_, err := env.Stdout.Write(b.Bytes())
		return err
	}
	if err := env.mayReplace(args[0], len(runs) == 0, force); err != nil {
		return fmt.Errorf("writing %s: %w", args[0], err)
	}
	if err := env.write(args[0], b.Bytes()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "%s written to %s\n", counted(len(runs), "run"), args[0])
	return err
}

// mayReplace returns an error if an export would overwrite a file, unless --force is given. An empty
// export never replaces a file that has content.
func (e Env) mayReplace(path string, empty, force bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || !info.Mode().IsRegular(): // the write will report the problem
		return nil
	case empty && info.Size() > 0:
		return errors.New("there are no measurements to write, and the file is not empty; it was not changed")
	case !force:
		return errors.New("the file already exists; use --force to replace it, or name another file")
	}
	return nil
}

// importHistory reads the whole export before it opens the store, so that a wrong file does not create one.
func importHistory(env Env, file string) error {
	in, err := env.open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	if file == "-" {
		file = "standard input"
	}
	runs, err := store.ReadExport(in)
	if err != nil {
		return fmt.Errorf("%s is not an export of snug history: %w", file, reason(err))
	}
	s, err := store.Open(store.Path(env.Getenv))
	if err != nil {
		return err
	}
	defer s.Close()
	n, err := s.Import(runs)
	if err != nil {
		return err
	}
	text := counted(n, "run") + " added"
	if known := len(runs) - n; known > 0 {
		text += fmt.Sprintf("; %s already here", wereOf(known, len(runs)))
	}
	_, err = fmt.Fprintln(env.Stdout, text)
	return err
}

// wereOf returns "2 of 5 were", for a sentence.
func wereOf(n, all int) string {
	switch {
	case n == 1:
		return fmt.Sprintf("1 of %d was", all)
	case n == all:
		return fmt.Sprintf("all %d were", all)
	}
	return fmt.Sprintf("%d of %d were", n, all)
}
