// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/config"
	"snug/internal/config/change"
	"snug/internal/config/projects"
)

type initOptions struct {
	projectFlags
	dryRun bool
}

const initLong = `Find where a project keeps its settings, and write a snug.yaml.

Searches the YAML, JSON, TOML, Python and shell files of the folder for the
model, batch, accumulation, precision and other settings. The result is shown
and written to a commented snug.yaml, which you can edit. It binds each setting
to file#path.to.key, so it works with any config. snug revert removes the file.`

func newInit(env Env) *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:     "init",
		Short:   "Find where a project keeps its settings, and write a snug.yaml",
		Long:    initLong,
		Example: "  snug init\n  snug init --config-path conf/config.yaml --dry-run",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runInit(env, o) },
	}
	o.addTo(cmd.Flags())
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the file instead of writing it")
	return cmd
}

// runInit finds the settings, shows them and writes snug.yaml.
func runInit(env Env, o initOptions) error {
	if err := env.checkFolder(o.folder); err != nil {
		return err
	}
	at := filepath.Join(o.folder, config.SnugFileName)
	if _, err := os.Lstat(at); err == nil && !o.dryRun {
		return fmt.Errorf("%s already exists; edit it, or use --dry-run", at)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", at, reason(err))
	}
	p, err := o.open(env)
	if err != nil && !errors.Is(err, projects.ErrNothing) {
		return err
	}
	content, err := o.newSnugFile(p)
	if err != nil {
		return err
	}
	if o.dryRun {
		_, err := env.Stdout.Write(content)
		return err
	}
	if err := o.create(content); err != nil {
		return err
	}
	var said described
	if p != nil {
		said = o.described(env, p)
	}
	return printLines(env.Stdout, initReport(env, p, at, said))
}

// described is what a project's files say to snug estimate.
type described struct {
	code    string   // what the script's code adds, such as the model
	missing []string // what keeps the files from describing a run
}

// described reads the run as snug estimate does: the script's code may show what no file names.
func (o initOptions) described(env Env, p *config.Project) described {
	f := &setupFlags{}
	f.addSettings(&cobra.Command{})
	folder := o.projectFlags
	folder.wanted = true
	rs, err := f.requestsIn(env, &folder)
	var first []request
	if err == nil {
		first, _, err = begin(rs, 1)
	}
	if err == nil && len(first) == 1 && first[0].err == nil {
		return described{code: first[0].setup.Script.Origins()}
	}
	var out described
	for _, m := range p.Missing() {
		out.missing = append(out.missing, m.Setting+": "+m.Say)
	}
	if len(out.missing) == 0 && err == nil && len(first) == 1 {
		out.missing = append(out.missing, first[0].from.text(first[0].err))
	}
	return out
}

// newSnugFile returns the text of a snug.yaml that snug will accept.
func (o initOptions) newSnugFile(p *config.Project) ([]byte, error) {
	content := config.NewSnugFile(p)
	own, err := projects.ParseSnugFile(content)
	if err == nil {
		err = own.Confine(projectFiles{o.folder})
	}
	return content, err
}

// create writes snug.yaml.
func (o initOptions) create(content []byte) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	c, err := store.Plan(nil, []change.Create{{File: config.SnugFileName, Content: content}})
	if err == nil {
		_, err = store.Apply(c, "snug init")
	}
	return err
}

// initReport returns lines about what was found and what to do next.
func initReport(env Env, p *config.Project, at string, said described) []string {
	if p == nil {
		return []string{"No known training config was found. " + at + " was written; it explains how", "to specify where the settings are."}
	}
	screen := env.screen()
	file, title := p.Main()
	out := []string{fmt.Sprintf("%s, read as %s:", file, title), ""}
	out = append(out, bindingsTable(p, screen)...)
	for _, n := range briefly(p.Notes) {
		out = append(out, wrap(strings.Fields("Note: "+n), " ", screen.Width)...)
	}
	if said.code != "" {
		out = append(out, wrap(strings.Fields("The code shows "+said.code+"."), " ", screen.Width)...)
	}
	if len(said.missing) > 0 {
		out = append(out, "", "Still missing:")
	}
	for _, m := range said.missing {
		out = append(out, wrap(strings.Fields(m), " ", screen.Width)...)
	}
	return append(out, "", "Written to "+at+".")
}
