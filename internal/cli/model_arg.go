// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// modelArg accepts one argument, the model: snug estimate gpt2 is snug estimate --model gpt2.
func (f *setupFlags) modelArg(cmd *cobra.Command, args []string) error {
	if err := switchValue(f.flags, args); err != nil {
		return err
	}
	switch {
	case len(args) == 0:
		return nil
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
