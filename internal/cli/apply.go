// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/config/change"
	"snug/internal/config/systems"
	"snug/internal/term"
)

type applyOptions struct {
	projectFlags
	set    []string
	rung   string
	yes    bool
	apply  bool
	dryRun bool
	json   bool
}

const applyLong = `Write settings into your training config files.

Without --yes it only shows a diff. snug changes the config files it finds in
the folder (YAML, JSON, TOML, Python or shell scripts of known trainers, or the
files bound in snug.yaml), or those you name. Only the values change; comments,
quotes, indentation and line endings stay. Either all files are written or none.
Each old file is kept as FILE.backup, and snug revert restores it exactly.

The settings come from --set, or from snug optimize --json on standard input.`

const applyExample = `  snug apply --set batch=8,accumulation=4
  snug apply --set batch=8,accumulation=4 --yes
  snug optimize --gpu RTX-4090 --json | snug apply --yes`

func newApply(env Env) *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:     "apply",
		Short:   "Write settings into the config files, or show what would change",
		Long:    applyLong,
		Example: applyExample,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runApply(env, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.set, "set", nil, "`settings` to write, like batch=8,accumulation=4")
	f.StringVar(&o.rung, "rung", "", "write the settings of this `rung` of optimize's ladder, such as safe")
	o.addTo(f)
	f.BoolVarP(&o.yes, "yes", "y", false, "write the files")
	f.BoolVar(&o.apply, "apply", false, "the same as --yes")
	f.BoolVar(&o.dryRun, "dry-run", false, "only show the diff (the default)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// runApply reads the settings and writes or shows them.
func runApply(env Env, o applyOptions) error {
	want, err := o.settings(env)
	if err != nil {
		return err
	}
	report, err := o.write(env, want, (o.yes || o.apply) && !o.dryRun)
	if err != nil {
		return err
	}
	if o.json {
		return report.json(env.Stdout)
	}
	return report.text(env.Stdout, env.screen())
}

// write finds a project's files, plans the edits for the settings, and writes them if asked to.
func (f *projectFlags) write(env Env, want wanted, yes bool) (*applyReport, error) {
	if err := env.checkFolder(f.folder); err != nil {
		return nil, err
	}
	store, err := f.store()
	if err != nil {
		return nil, err
	}
	report := &applyReport{}
	if err := report.recover(store, yes); err != nil {
		return nil, err
	}
	project, err := f.open(env)
	if err != nil {
		return nil, err
	}
	if err := report.plan(store, project, &want); err != nil {
		return nil, err
	}
	if !yes || len(report.change.Files) == 0 {
		return report, nil
	}
	entry, err := store.Apply(report.change, want.values.String())
	if err != nil {
		return nil, err
	}
	report.id = entry.ID
	return report, nil
}

// recover handles a change that was interrupted earlier, and reports a journal that belongs to another
// folder.
func (r *applyReport) recover(store *change.Store, write bool) error {
	foreign, err := store.Foreign()
	if err != nil {
		return err
	}
	if foreign != "" {
		r.note("%s", foreign)
	}
	stopped, err := store.Interrupted()
	if err != nil || !stopped {
		return err
	}
	if !write {
		r.note("an earlier change to these files was interrupted; --yes and snug revert both restore the old files first")
		return nil
	}
	gone, err := store.Recover(false)
	if err != nil {
		return err
	}
	for _, e := range gone {
		r.note("an earlier change was interrupted; restored first: %s", strings.Join(e.Paths(), ", "))
	}
	return nil
}

// settings returns the settings to write.
func (o *applyOptions) settings(env Env) (wanted, error) {
	if len(o.set) > 0 {
		if o.rung != "" {
			return wanted{}, errors.New("--rung selects from the output of snug optimize on standard input; do not combine it with --set")
		}
		return parseSet(o.set)
	}
	if term.Interactive(env.Stdin) {
		return wanted{}, errors.New("no settings to write; give --set batch=8,accumulation=4, or pipe in snug optimize --json")
	}
	return readOptimized(env.Stdin, o.rung)
}

// usualSetting returns the setting that another program's key in name=value stands for; "" if there is none or the name
// is already a setting.
func usualSetting(text string) string {
	name, _, _ := strings.Cut(text, "=")
	meant := strings.TrimPrefix(othersFlags[strings.ReplaceAll(strings.TrimSpace(name), "_", "-")], "--")
	if _, err := systems.SettingNamed(meant); err != nil {
		return ""
	}
	return meant
}

// parseSet returns the settings in --set batch=8,accumulation=4.
func parseSet(texts []string) (wanted, error) {
	var w wanted
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			name, value, err := systems.ParseSetting(part)
			if usual := usualSetting(part); err != nil && usual != "" {
				return w, fmt.Errorf("--set %s: snug calls this setting %s, and finds the matching key in your files", part, usual)
			}
			if err != nil {
				return w, fmt.Errorf("--set: %w", err)
			}
			if w.values.Get(name) != nil {
				return w, fmt.Errorf("--set: %s is given twice", name)
			}
			w.values = w.values.With(name, value)
		}
	}
	return w, nil
}
