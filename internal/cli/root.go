// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootLong = `snug predicts a PyTorch training run's GPU memory and fits the run to its card.`

// rootHelp is the template of the first screen; it must fit 24 rows, with the exit codes. Commands in the group
// others are listed by name only.
const rootHelp = `{{.Long}}

Commands (for details: snug COMMAND --help):
{{range .Commands}}{{if and .IsAvailableCommand (not .GroupID)}}  {{rpad .Name .NamePadding}} {{.Short}}
{{end}}{{end}}
Also:{{range .Commands}}{{if and .IsAvailableCommand .GroupID}} {{.Name}}{{end}}{{end}}

`

// others is the group of commands that the first screen has no room to describe.
const others = "others"

// inOthers returns commands as members of the group others.
func inOthers(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.GroupID = others
	}
	return commands
}

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
	root.AddCommand(newApply(env), newCheck(env), newDiagnose(env), newEstimate(env), newInit(env), newLint(env), newMaxBatch(env), newOptimize(env), newProfile(env), newReplay(env), newServe(env), newTune(env), newWatch(env))
	root.AddGroup(&cobra.Group{ID: others, Title: "Other commands:"})
	root.AddCommand(inOthers(newGPUs(env), newHistory(env), newModels(env), newPredict(env), newRevert(env), newVersion(env))...)
	root.SetHelpCommand(newHelp(root))
	root.SetHelpCommandGroupID(others)
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
