// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snug/internal/record"
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
}

const profileLong = `Run your unchanged training command for a few steps and record its use of GPU
memory. Recordings at two or more small sizes make a profile. With the profile
snug predicts any other size, on any machine, without a GPU.

Everything after -- is the command: python, torchrun, accelerate, deepspeed, uv
run or a script. With --vary it runs once for each size. The value replaces
{batch} in the command. Without {batch}, snug adds the script's own option or a
Hydra override, or changes a temporary copy of the config or shell script; your
file does not change. All ranks and child processes are recorded. The run ends
after --steps optimizer steps, or continues with --keep-running. Without a GPU
it ends when training begins. No data leaves this machine.`

const profileExample = `  snug profile --vary batch=2,3 -- python train.py --batch-size {batch}
  snug profile --vary batch=2,3 --vary seq=128,192 -- \
      torchrun --nproc_per_node 4 train.py --bs {batch} --len {seq}
  snug profile --vary batch=2,3 -- python train.py --config conf.yaml
  snug profile --keep-running --steps 5 -- bash train.sh`

const profileExits = `If the command fails before its steps are done, snug exits with its exit code.`

func newProfile(env Env) *cobra.Command {
	var o profileOptions
	cmd := &cobra.Command{
		Use:     "profile [--vary NAME=N,N...] [flags] -- COMMAND...",
		Short:   "Record a training command at small sizes to predict other sizes",
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
	f.SetInterspersed(false) // even without --, flags after the command belong to the command
	f.StringArrayVar(&o.vary, "vary", nil, "small sizes to run, as `name=N,N`; may be repeated")
	f.IntVar(&o.steps, "steps", record.DefaultSteps, "record `N` optimizer steps")
	f.StringVarP(&o.out, "out", "o", "memory.snug", "`file` for the profile")
	f.StringVar(&o.keep, "keep", "", "keep the recordings in this `folder`")
	f.BoolVar(&o.stacks, "stacks", true, "record where allocations come from: slower steps, more reliable profiles (default true with --vary)")
	f.Lookup("stacks").DefValue = "false"
	f.BoolVar(&o.keepRunning, "keep-running", false, "let the command continue after the recorded steps")
	f.DurationVar(&o.timeout, "timeout", record.DefaultTimeout, "`time` limit for one run; 0 for none")
	f.StringVar(&o.setup, "setup", "", "`file` with a setup, to compare measured and estimated memory")
	f.StringSliceVar(&o.configs, "config-path", nil, "config `files` that contain the varied sizes")
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "config" { // the former name of the flag
			name = "config-path"
		}
		return pflag.NormalizedName(name)
	})
	f.BoolVarP(&o.quiet, "quiet", "q", false, "hide the command's output")
	f.BoolVar(&o.json, "json", false, "print one JSON object; the command's output goes to standard error")
	return cmd
}

// runProfile records the command as requested by the flags and prints the result.
func runProfile(ctx context.Context, env Env, o profileOptions, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	plan, err := o.plan(env, args)
	if err != nil {
		return err
	}
	r, err := record.Run(ctx, env.recording(progress(env, o.steps, o.quiet), o.setup, o.json), plan)
	if err != nil {
		return err
	}
	report := profileReport{r, o.keep}
	if o.json {
		return report.json(env.Stdout)
	}
	return report.text(env.Stdout, env.screen())
}

// check returns an error for flags that are wrong by themselves.
func (o *profileOptions) check(args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("profile needs your training command: snug profile -- python train.py")
	case args[0] == "":
		return errors.New("the training command is empty; write snug profile -- python train.py")
	case o.steps < 1:
		return fmt.Errorf("--steps is %d; it must be at least 1", o.steps)
	case o.timeout < 0:
		return fmt.Errorf("--timeout %v: write a time like 10m, or 0 for none", o.timeout)
	}
	return nil
}

// plan returns what to record.
func (o *profileOptions) plan(env Env, args []string) (record.Plan, error) {
	sizes, err := varied(o.vary)
	if err == nil {
		err = checkTwoSizes(o.vary, sizes)
	}
	if err != nil {
		return record.Plan{}, err
	}
	reference, err := readReference(env, o.setup, sizes[0])
	return record.Plan{
		Command: args, Sizes: sizes, Configs: o.configs, Reference: reference,
		Steps: o.steps, Stacks: o.stacks, KeepRunning: o.keepRunning, Timeout: o.timeout, Quiet: o.quiet,
		Out: o.out, Keep: o.keep,
	}, err
}
