// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/config/meaning"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/revision"
)

type checkOptions struct {
	setupFlags
	projectFlags
	against string
	slower  float64
	json    bool
}

const checkLong = `Check that the training run of a project still fits a card and is not slower
than before. Made for pull requests and commit hooks.

The run is read from the config files of the folder, as snug estimate reads it.
With --base, it is also read from the files of that git revision, and the two
are compared: memory by component, and training speed. The working tree and the
repository are not changed. Flags that describe the run apply to both.

The exit code is 1 if the run does not fit, or is slower than the base by more
than --slower percent. Speed is not compared if only the memory of the card is
known, or if the base does not fit. If the base has no config that can be read,
only the fit is checked, with a note.`

const checkExample = `  snug check --gpu RTX-4090
  snug check --gpu A100-80GB --base origin/main
  snug check --gpu-memory 24 --config-path conf/train.yaml --base HEAD --json`

func newCheck(env Env) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Check that a project's run still fits its card; compare with git",
		Long:    checkLong,
		Example: checkExample,
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCheck(cmd.Context(), env, o) },
	}
	o.addRun(cmd)
	f := cmd.Flags()
	o.addTo(f)
	f.StringVar(&o.against, "base", "", "git `revision` to compare with: a branch, a tag or a commit")
	f.Float64Var(&o.slower, "slower", 5, "`percent` by which the run may be slower than the base")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// runCheck estimates the project as it is and as in the base, compares both, and prints the result.
func runCheck(ctx context.Context, env Env, o checkOptions) error {
	o.wanted = true
	if err := o.check(); err != nil {
		return err
	}
	into, err := o.roomIn(ctx, env, o.json)
	if err != nil {
		return err
	}
	c := comparison{Slower: o.slower, base: o.against, room: into}
	done := env.working("simulating")
	defer done()
	if c.Base, err = o.before(ctx, env, &c); err != nil {
		return err
	}
	if c.Here, err = o.side(ctx, env, into); err != nil {
		return err
	}
	if c.Here.answer.Fits == nil {
		return errNoRoom
	}
	c.judge()
	done()
	return c.print(env, o.json)
}

// check returns an error for flags that are wrong by themselves.
func (o *checkOptions) check() error {
	switch {
	case math.IsNaN(o.slower) || o.slower < 0:
		return fmt.Errorf("--slower %v: write a percentage of 0 or more", o.slower)
	case o.flags.Changed("slower") && o.against == "":
		return errors.New("--slower needs --base REVISION to compare with")
	}
	names, err := o.names() // relative to the folder, so that they can be found in the base too
	o.paths = names
	return err
}

// before returns the run of the base. If that cannot be estimated, it returns nil and adds a note.
func (o *checkOptions) before(ctx context.Context, env Env, c *comparison) (*checked, error) {
	if o.against == "" {
		return nil, nil
	}
	if err := env.checkFolder(o.folder); err != nil {
		return nil, err
	}
	into, err := os.MkdirTemp("", "snug-base-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder for the files of --base: %w", err)
	}
	defer func() { _ = os.RemoveAll(into) }()
	tree, err := revision.Extract(ctx, o.folder, o.against, into)
	if err != nil {
		return nil, fmt.Errorf("--base %s: %w", o.against, err)
	}
	then := *o
	then.folder = tree.Folder
	if then.setupFlags.base, err = o.sameBelow(tree.Folder); err != nil {
		return nil, err
	}
	got, err := then.side(ctx, env, c.room)
	inBase := strings.NewReplacer(into+string(os.PathSeparator), o.against+":", into, o.against, "--dir ", "")
	if err != nil {
		c.Notes = append(c.Notes, fmt.Sprintf("%s has no run to compare with, so only the fit is checked: %s", o.against, inBase.Replace(err.Error())))
		return nil, ctx.Err()
	}
	for i, n := range got.notes {
		got.notes[i] = inBase.Replace(n)
	}
	got.Revision, got.Commit = o.against, tree.Commit
	return got, nil
}

// sameBelow makes the base's folder equivalent to this folder for a run: relative paths start there, and both sides use
// the project's Python environment, which is not in git.
func (o *checkOptions) sameBelow(folder string) (start string, err error) {
	here, err := filepath.Abs(o.folder)
	if err != nil {
		return "", err
	}
	working, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	for _, name := range meaning.Environments {
		if info, err := os.Stat(filepath.Join(here, name)); err == nil && info.IsDir() {
			_ = os.Symlink(filepath.Join(here, name), filepath.Join(folder, name)) // fails if the base has its own
		}
	}
	up, err := filepath.Rel(here, working)
	return filepath.Join(folder, up), err
}

// side estimates the run of the working tree or of the base.
func (o checkOptions) side(ctx context.Context, env Env, into room) (*checked, error) {
	list, err := all(o.requestsIn(env, &o.projectFlags))
	if err != nil {
		return nil, err
	}
	r := list[0] // a project is one run
	if r.err != nil {
		return nil, errors.New(r.from.located(r.err))
	}
	card := into.card(r.setup)
	if err = estimate.Runnable(r.setup, card); err != nil {
		return nil, errors.New(r.from.located(err))
	}
	a, err := estimate.EstimateContext(ctx, r.setup, card)
	if err != nil {
		return nil, errors.New(r.from.located(err))
	}
	if o.gpu == "" && into.here == nil {
		a.StepSeconds = 0 // speed is unknown if only the memory size is given
	}
	return newChecked(a, card, o.from, o.warnings), nil
}

// print writes the comparison, and returns found if the check failed.
func (c *comparison) print(env Env, json bool) error {
	notes := notesOnce{}
	notes.say(env, c.Notes)
	notes.say(env, c.Here.notes)
	if json {
		c.Notes = append(c.Notes, c.Here.notes...)
		if err := printJSON(env.Stdout, c); err != nil {
			return err
		}
	} else if _, err := io.WriteString(env.Stdout, c.text(env.screen())); err != nil {
		return err
	}
	if !c.OK {
		return found{}
	}
	return nil
}

// checked is the run of the working tree or of the base.
type checked struct {
	Revision string           `json:"revision,omitempty"` // as given with --base; "" for the working tree
	Commit   string           `json:"commit,omitempty"`   // its full hash
	Estimate *estimate.Answer `json:"estimate"`
	Rate     float64          `json:"samples_per_second,omitempty"`

	answer *estimate.Answer
	card   gpu.Card
	from   string // a description of the files it was read from
	notes  []string
}

func newChecked(a *estimate.Answer, card gpu.Card, from string, warnings []string) *checked {
	out := &checked{Estimate: a, answer: a, card: card, from: from, notes: allNotes(a.Setup, card, warnings)}
	if a.StepSeconds > 0 {
		out.Rate = float64(effectiveBatch(a)) / a.StepSeconds
	}
	return out
}

// effectiveBatch returns the samples per optimizer step over all GPUs.
func effectiveBatch(a *estimate.Answer) int {
	s := a.Setup
	return s.Batch * a.Run.Micros(s) * max(s.Dist.World(), 1)
}
