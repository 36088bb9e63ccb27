// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "snug",
		Short:         "Fit a training run to the GPU it runs on",
		Long:          "snug says how much GPU memory a PyTorch training run takes, to the byte, and finds the settings that use the card best.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpTemplate(root.HelpTemplate() + "\n" + exitHelp())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 "))
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newApply(env), newEstimate(env), newGPUs(env), newHistory(env), newInit(env), newMaxBatch(env), newOptimize(env), newPredict(env), newProfile(env), newReplay(env), newRevert(env), newVersion(env))
	return root
}

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of snug",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.Stdout, "snug %s\n", env.Version)
			return err
		},
	}
}
