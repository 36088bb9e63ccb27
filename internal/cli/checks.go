// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/files"
)

// Checks for mistakes that are possible with every command: empty values, for example from an empty variable
// in a script, and folders in place of files.

// mayBeEmpty lists the flags for which an empty value is valid: it means no options.
var mayBeEmpty = []string{"allocator", "alloc-conf"}

// refuseEmpty makes a command and its subcommands refuse empty flags and arguments. Arguments after -- belong
// to another command and are not checked.
func refuseEmpty(cmd *cobra.Command) {
	own := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		var err error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if err == nil && f.Value.Type() == "string" && f.Value.String() == "" && !slices.Contains(mayBeEmpty, f.Name) {
				err = fmt.Errorf("no value for --%s; give one or leave the flag out", f.Name)
			}
		})
		mine := args
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			mine = args[:n]
		}
		if err == nil && slices.Contains(mine, "") {
			err = fmt.Errorf("an argument of %s is empty; see %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		if err != nil || own == nil {
			return err
		}
		return own(cmd, args)
	}
	for _, c := range cmd.Commands() {
		refuseEmpty(c)
	}
}

// errNotPlain is for devices and pipes, which must not be replaced by a file.
var errNotPlain = errors.New("not a regular file")

// write writes a whole file, or returns an error and leaves the old one.
func (e Env) write(path string, data []byte) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		err = files.ErrFolder
	case err == nil && !info.Mode().IsRegular():
		err = errNotPlain
	default:
		err = e.WriteFile(path, data)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, reason(err))
	}
	return nil
}

// checkFolder returns an error if --dir is not a folder.
func (e Env) checkFolder(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("--dir %s: no such folder", name)
	case err != nil:
		return fmt.Errorf("--dir %s: %w", name, reason(err))
	case !info.IsDir():
		return fmt.Errorf("--dir %s: this is a file; give the project folder, or the file with --config-path", name)
	}
	return nil
}
