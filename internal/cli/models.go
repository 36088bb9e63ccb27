// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/setup"
	"snug/internal/spelling"
)

const modelsLong = `List the models that --model knows by name, or those whose names contain all
words of a QUERY. A copy under another owner, or a folder of the same name, is
treated as that model, with a note. Other models of the same families need their
config.json: --model accepts its folder, or a name from the Hugging Face cache.

Any other model can be recorded: snug profile -- <your command>`

func newModels(env Env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "models [QUERY...]",
		Short:   "List the models that are known by name",
		Long:    modelsLong,
		Example: "  snug models\n  snug models qwen2.5 7b\n  snug models llama --json",
		RunE: func(_ *cobra.Command, args []string) error {
			return showModels(env, strings.Join(args, " "), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per model")
	return cmd
}

// modelWords returns the words in all model names: families, sizes, kinds.
func modelWords() []string {
	var out []string
	for _, m := range setup.KnownModels("") {
		out = append(out, strings.FieldsFunc(strings.ToLower(m.Name), func(c rune) bool { return c == '-' || c == '/' || c == '_' })...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func showModels(env Env, query string, asJSON bool) error {
	list := setup.KnownModels(query)
	if len(list) == 0 {
		return fmt.Errorf("no model's name contains all the words in %q%s", query, spelling.Hint(query, modelWords(), "snug models lists all models, and --model accepts a folder with a config.json"))
	}
	if asJSON {
		for _, m := range list {
			if err := printJSON(env.Stdout, m); err != nil {
				return err
			}
		}
		return nil
	}
	return printLines(env.Stdout, modelTable(list))
}

func modelTable(list []setup.KnownModel) []string {
	width := len("name")
	for _, m := range list {
		width = max(width, len(m.Name))
	}
	out := []string{fmt.Sprintf("%-*s  %-10s  %s", width, "name", "parameters", "type")}
	for _, m := range list {
		size := ""
		if m.Params > 0 {
			size = inMillions(m.Params)
		}
		out = append(out, fmt.Sprintf("%-*s  %10s  %s", width, m.Name, size, m.Type))
	}
	return out
}

// inMillions formats a number of parameters: 124 M, 1.24 B.
func inMillions(params int) string {
	if params < 1e9 {
		return fmt.Sprintf("%.0f M", float64(params)/1e6)
	}
	return fmt.Sprintf("%.3g B", float64(params)/1e9)
}
