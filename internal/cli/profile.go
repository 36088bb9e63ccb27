// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/run"
)

type profileOptions struct {
	vary        []string
	steps       int
	stacks      bool
	keepRunning bool
	timeout     time.Duration
	out         string
	keep        string
	setup       string
	configs     []string
	quiet, json bool
	oneSize     bool // will do: no profile is asked for
	ownInput    bool // standard input is read by snug, and is not the command's
}

const profileLong = `Run your training command, unchanged, for a few steps and record what it does
to GPU memory; from two or more small sizes make a profile that says what any
other size takes, on any machine, without a GPU.

Everything after -- is the command: python, torchrun, accelerate, deepspeed, uv
run or a script. With --vary it runs once for each size. The value goes where
the command says {batch}; else it is added as the option that the script has for
it, or as an override for Hydra, or goes into a temporary copy of the config or
shell script that holds it (yours stays as it is). Ranks, spawned and forked
processes are all watched. The run ends after --steps optimizer steps, or goes
on with --keep-running; without a GPU it ends where it begins to train. Nothing
leaves this machine.`

const profileExample = `  snug profile --vary batch=2,3 -- python train.py --batch-size {batch}
  snug profile --vary batch=2,3 --vary seq=128,192 -- \
      torchrun --nproc_per_node 4 train.py --bs {batch} --len {seq}
  snug profile --vary batch=2,3 -- python train.py --config conf.yaml
  snug profile --keep-running --steps 5 -- bash train.sh`

const profileExits = `A command that fails before it has taken its steps gives snug its own exit code.`

func newProfile(env Env) *cobra.Command {
	var o profileOptions
	cmd := &cobra.Command{
		Use:     "profile [--vary NAME=N,N...] -- COMMAND...",
		Short:   "Record a training command at small sizes, to plan it at any other",
		Long:    profileLong + "\n\n" + profileExits,
		Example: profileExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := optionsFirst(cmd, args); err != nil {
				return err
			}
			o.stacks = o.stacks && (cmd.Flags().Changed("stacks") || len(o.vary) > 0)
			return runProfile(cmd.Context(), env, o, args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.SetInterspersed(false) // without -- too, the command's own flags are its own
	f.StringArrayVar(&o.vary, "vary", nil, "small values to run at, as `name=N,N`; may be repeated")
	f.IntVar(&o.steps, "steps", 3, "`N`: optimizer steps to record")
	f.StringVarP(&o.out, "out", "o", "memory.snug", "`file` for the profile")
	f.StringVar(&o.keep, "keep", "", "`folder` to keep the recordings in")
	f.BoolVar(&o.stacks, "stacks", true, "record where allocations come from: slower steps, surer profiles (default true with --vary)")
	f.Lookup("stacks").DefValue = "false"
	f.BoolVar(&o.keepRunning, "keep-running", false, "let the command go on after its recorded steps")
	f.DurationVar(&o.timeout, "timeout", 15*time.Minute, "`time` that one run may take; 0 for any")
	f.StringVar(&o.setup, "setup", "", "`file` with a setup, to show measured against estimated")
	f.StringSliceVar(&o.configs, "config-path", nil, "config `files` that hold what is varied")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "config" { // what the flag was called before it was called as elsewhere
			name = "config-path"
		}
		return pflag.NormalizedName(name)
	})
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not show what the command prints")
	f.BoolVar(&o.json, "json", false, "print one JSON object; the command's output goes to standard error")
	return cmd
}

// runProfile is the command: runs, then what they say, then the profile.
func runProfile(ctx context.Context, env Env, o profileOptions, args []string) error {
	p, err := newProfiling(ctx, env, o, args)
	if err != nil {
		return err
	}
	err = p.run(ctx)
	p.close() // before anything is printed: whoever reads it may go away
	if err != nil {
		return err
	}
	if o.json {
		return p.json(env.Stdout)
	}
	return p.text(env.Stdout, env.screen())
}

// newProfiling prepares the runs; whoever gets it closes it.
func newProfiling(ctx context.Context, env Env, o profileOptions, args []string) (*profiling, error) {
	sizes, err := o.check(args)
	if err != nil {
		return nil, err
	}
	p := &profiling{env: env, options: o, sizes: sizes, secrets: env.secrets(args), signals: make(chan os.Signal, 4), launch: run.ReadLaunch(args)}
	run.Notify(p.signals)
	p.tellLeft(run.RemoveLeft(""))
	if p.work, err = run.NewWork(""); err != nil {
		run.Stop(p.signals)
		return nil, fmt.Errorf("making a folder for the recordings: %w; TMPDIR names another place for it", err)
	}
	err = p.checkLaunch()
	if err == nil {
		err = p.checkPlaces()
	}
	p.hasGPU = p.seesGPU(ctx)
	if err == nil {
		err = p.prepare()
	}
	if err != nil {
		p.close()
		return nil, p.hide(err)
	}
	return p, nil
}

// tellLeft says what of an earlier snug was found that somebody may wonder about.
func (p *profiling) tellLeft(left run.Left) {
	if left.Processes > 0 {
		p.say("an earlier snug was killed and left its training running; that is ended now")
	}
	if left.Spared > 0 {
		p.say("an earlier snug was killed; its training was to be kept running, and runs on")
	}
}

func (p *profiling) close() {
	_ = p.work.Remove()
	run.Stop(p.signals) // last: a second Ctrl-C would leave the folder behind
}

// run records every size and makes of it what can be made.
func (p *profiling) run(ctx context.Context) error {
	for _, step := range []func() error{func() error { return p.record(ctx) }, p.fit} {
		if err := step(); err != nil {
			return p.hide(p.withKept(err))
		}
	}
	p.compare()
	p.remember()
	return nil
}
