// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// runArgs accepts a model, or after -- the command that trains: snug estimate -- python train.py is
// snug estimate --loop train.py.
func (f *setupFlags) runArgs(cmd *cobra.Command, args []string, p *projectFlags) error {
	if n := cmd.ArgsLenAtDash(); n > 0 && len(args) > n {
		return fmt.Errorf("the model %q and the command after -- both describe the run; give one of them", args[0])
	}
	if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
		return f.commandArg(args, p)
	}
	return f.modelArg(cmd, args)
}

// commandArg takes over the command that trains.
func (f *setupFlags) commandArg(words []string, p *projectFlags) error {
	for _, name := range []string{"loop", "config-path", "setup"} {
		if f.flags.Changed(name) {
			return fmt.Errorf("--%s and the command after -- both describe the run; give one of them", name)
		}
	}
	i := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ".py") || strings.HasSuffix(w, ".ipynb") })
	if i < 0 {
		return fmt.Errorf("the command after -- starts no Python script: %s; write it like snug estimate -- python train.py --batch-size 8", quoteWords(words))
	}
	if isPython(words[:i]) {
		p.plain = true
		return f.flags.Set("loop", quoteWords(words[i:]))
	}
	p.given = quoteWords(words)
	return nil
}

// isPython reports whether words start a script in a single process: python3 -u, uv run python.
func isPython(words []string) bool {
	for _, w := range words {
		name := filepath.Base(w)
		if !strings.HasPrefix(name, "python") && name != "uv" && name != "run" && name != "env" && name != "-u" && name != "-O" {
			return false
		}
	}
	return true
}

// quoteWords returns words as a shell reads them.
func quoteWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; w == "" || strings.ContainsAny(w, " \t\n'\"\\$&|;<>()*?[]{}~#`!") {
			out[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// modelArg accepts one argument, the model: snug estimate gpt2 is snug estimate --model gpt2.
func (f *setupFlags) modelArg(cmd *cobra.Command, args []string) error {
	if err := switchValue(f.flags, args); err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1 && isPython(args[:1]):
		return dashMissing(cmd, args)
	case len(args) > 1:
		return fmt.Errorf("unexpected argument %q after the model %q; see %s --help", args[1], args[0], cmd.CommandPath())
	case f.flags.Changed("model"), f.flags.Changed("config"):
		return fmt.Errorf("unexpected argument %q; a flag already gives the model; see %s --help", args[0], cmd.CommandPath())
	}
	switch name := args[0]; filepath.Ext(name) {
	case ".py":
		return fmt.Errorf("%s is a script, not a model; give it as --loop %s", name, name)
	case ".yaml", ".yml", ".jsonl":
		return fmt.Errorf("%s is not a model; give a setup as --setup %s, or a training config as --config-path %s", name, name, name)
	}
	if f.flags.Lookup("dir") != nil && isProject(args[0]) {
		return fmt.Errorf("%s is a folder without a config.json, so it is not a model; for the training config in it, give --dir %s", args[0], args[0])
	}
	f.model = args[0]
	return nil
}

// isProject reports whether a path is a folder that does not contain a model.
func isProject(at string) bool {
	if at != "." && at != ".." && filepath.Base(at) == at {
		return false // a folder here may have the same name as a model
	}
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(at, "config.json"))
	return err != nil
}
