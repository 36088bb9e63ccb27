// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `snug computes the GPU memory of a PyTorch training run and fits it to the card.`

// rootHelp is the template of the first screen; it has to fit 24 rows, with the exit codes. There is no room for
// version, which is a flag too.
const rootHelp = `{{.Long}}

Commands (snug COMMAND --help says more):
{{range .Commands}}{{if and .IsAvailableCommand (ne .Name "help") (ne .Name "version")}}  {{rpad .Name .NamePadding}} {{.Short}}
{{end}}{{end}}`

func newRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "snug",
		Short:         "Fit a training run to the GPU it runs on",
		Long:          rootLong,
		Version:       env.Build.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpTemplate("{{if .HasParent}}" + root.HelpTemplate() + "\n{{else}}" + rootHelp + "{{end}}" + exitHelp())
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages ", "Flags.FlagUsagesWrapped 80 "))
	root.SetVersionTemplate("snug {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newApply(env), newDiagnose(env), newEstimate(env), newGPUs(env), newHistory(env), newInit(env), newLint(env), newMaxBatch(env), newModels(env), newOptimize(env), newPredict(env), newProfile(env), newReplay(env), newRevert(env), newServe(env), newTune(env), newVersion(env), newWatch(env))
	root.SetHelpCommand(newHelp(root))
	refuseEmpty(root)
	refuseTwice(root)
	return root
}

// newHelp returns cobra's help command, except that an unknown command is an error.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) == 0 {
				return cmd.Help()
			}
			return noSuchCommand(cmd, args[len(args)-len(rest):])
		},
	}
}
