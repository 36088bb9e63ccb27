// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/spelling"
)

// noSuchCommand returns an error for any argument of a command that has subcommands, because it is an unknown
// subcommand.
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
	if meant := othersCommands[strings.ToLower(args[0])]; slices.Contains(names, meant) {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], meant)
	}
	return fmt.Errorf("unknown command %q%s", args[0], spelling.Hint(args[0], names, "see "+cmd.CommandPath()+" --help"))
}

// flagError returns a one-line error for a flag that does not exist or has a bad value.
func flagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "unknown flag: --")
	if bad := new(pflag.InvalidValueError); errors.As(err, &bad) {
		if twice := new(twiceError); errors.As(err, &twice) {
			return fmt.Errorf("--%s is %w", bad.GetFlag().Name, twice)
		}
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("--%s %s: the number is too large", bad.GetFlag().Name, bad.GetValue())
		}
		return fmt.Errorf("--%s %q: %s", bad.GetFlag().Name, bad.GetValue(), wantedBy(bad.GetFlag()))
	}
	if args := cmd.Flags().Args(); startsCommand(cmd, args) {
		return dashMissing(cmd, args)
	}
	if !unknown {
		return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
	}
	if meant := othersFlags[strings.ReplaceAll(name, "_", "-")]; meant != "" && hasFlags(cmd, meant) {
		return fmt.Errorf("unknown flag --%s; did you mean %s?", name, meant)
	}
	if off, is := strings.CutPrefix(name, "no-"); is && isSwitch(cmd.Flags().Lookup(off)) {
		return fmt.Errorf("unknown flag --%s; write --%s=false", name, off)
	}
	if cmd.Flags().Lookup("set") != nil && slices.Contains(settingNames(), name) {
		return fmt.Errorf("unknown flag --%s; write --set %[1]s=VALUE", name)
	}
	if others := commandsWith(cmd, name); len(others) > 0 {
		return fmt.Errorf("%s has no flag --%s (only %s); see %s --help", cmd.CommandPath(), name, strings.Join(others, ", "), cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)
	}
	return fmt.Errorf("unknown flag --%s; see %s --help", name, cmd.CommandPath())
}

// isSwitch reports whether a flag is boolean.
func isSwitch(f *pflag.Flag) bool { return f != nil && f.Value.Type() == "bool" }

// switchValue returns an error for true or false as an argument, which is meant for the switch before it; nil for other
// arguments.
func switchValue(fs *pflag.FlagSet, args []string) error {
	i := slices.IndexFunc(args, func(a string) bool { return strings.EqualFold(a, "true") || strings.EqualFold(a, "false") })
	if i < 0 {
		return nil
	}
	var switches []string
	fs.Visit(func(f *pflag.Flag) {
		if isSwitch(f) {
			switches = append(switches, f.Name)
		}
	})
	if len(switches) != 1 {
		switches = []string{"checkpointing"}
	}
	return fmt.Errorf("unexpected argument %q; a switch takes its value after =, as in --%s=%s", args[i], switches[0], strings.ToLower(args[i]))
}

// commandsWith returns the other commands that have a flag with this name.
func commandsWith(cmd *cobra.Command, name string) []string {
	var out []string
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() && c.LocalFlags().Lookup(name) != nil {
			out = append(out, c.Name())
		}
	}
	return out
}

// wantedBy describes the value that a flag accepts.
func wantedBy(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return "write a whole number"
	case "float64":
		return "write a number"
	case "bool":
		return "write true or false"
	case "duration":
		return "write a time like 30s or 10m"
	}
	switch {
	case f.Name == "gpu" && f.Value.Type() == "intSlice":
		return "give GPU numbers, such as 0,1"
	case f.Name == "pid":
		return "give process IDs, such as 4711,4712"
	case f.Value.Type() == "intSlice":
		return "give whole numbers, such as 1,2"
	}
	return "see its description in --help"
}
