// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Some commands take a training command after --. Users easily forget the --, and the command's flags are then
// parsed as snug's.

// takesCommand reports whether a command runs another.
func takesCommand(cmd *cobra.Command) bool { return strings.Contains(cmd.Use, "-- COMMAND") }

// launchers are programs that start a training script.
var launchers = []string{"accelerate", "torchrun", "deepspeed", "bash", "sh", "srun", "axolotl", "llamafactory-cli"}

// startsCommand reports whether the arguments before a bad flag are a training command without --. A command that
// also takes a model gets one only if the first argument can start a program.
func startsCommand(cmd *cobra.Command, args []string) bool {
	if !takesCommand(cmd) || len(args) == 0 || cmd.ArgsLenAtDash() >= 0 || isModel(cmd, args) || isRead(cmd, args) {
		return false
	}
	takesModel := strings.Contains(cmd.Use, "[MODEL")
	return !takesModel || isPython(args[:1]) || slices.Contains(launchers, args[0])
}

// isModel reports whether the arguments can be the model of a run rather than a training command.
func isModel(cmd *cobra.Command, args []string) bool {
	profile := cmd.Flags().Lookup("profile")
	return profile != nil && !profile.Changed && len(args) == 1
}

// isRead reports whether the arguments are files to read rather than a training command. This applies only to
// commands with a --watch flag, without which they start nothing.
func isRead(cmd *cobra.Command, args []string) bool {
	watch := cmd.Flags().Lookup("watch")
	if watch == nil || watch.Changed {
		return false
	}
	_, err := os.Stat(args[0])
	return err == nil || args[0] == "-" || isEvidence(args[0])
}

// dashMissing returns an error that shows where to put the --.
func dashMissing(cmd *cobra.Command, words []string) error {
	flag := ""
	for _, name := range []string{"profile", "watch"} {
		if cmd.Flags().Lookup(name) != nil {
			flag = " --" + name
		}
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == strings.TrimSpace(flag) })
	return fmt.Errorf("put -- before the training command and after all of snug's options: %s%s -- %s", cmd.CommandPath(), flag, strings.Join(words, " ")+" ...")
}

// optionsFirst returns an error for an option of snug after a command without --. The option would be passed
// to the command, and few commands report unknown options.
func optionsFirst(cmd *cobra.Command, words []string) error {
	behind := slices.ContainsFunc(words, func(w string) bool { return w == "--vary" || strings.HasPrefix(w, "--vary=") })
	if cmd.ArgsLenAtDash() >= 0 || !behind {
		return nil
	}
	return fmt.Errorf("--vary comes after the training command, so it would be passed to the command; put snug's options first: %s --vary batch=2,3 -- %s ...", cmd.CommandPath(), words[0])
}
