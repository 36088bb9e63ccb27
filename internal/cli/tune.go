// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"snug/internal/record"
	"snug/internal/slurm"
	"snug/internal/tune"
)

type tuneOptions struct {
	optimizeOptions
	steps      int
	trials     int
	steady     float64
	try        []string
	start      time.Duration
	step       time.Duration
	end        time.Duration
	timeout    time.Duration
	worstFirst bool
	fresh      bool
	dryRun     bool
	verbose    bool
	html       string
	launcher   string
	jobs       int
	shared     string
	poll       time.Duration
}

const tuneLong = `Find the fastest settings that fit, by short trials of your own command.

Starts with the settings that snug predicts to be fastest, verifies them, and
then tries neighbors that may be faster: another batch, checkpointing off, a
fused optimizer. The effective batch (batch x accumulation x GPUs) is kept. Each
trial runs the command after -- for up to --max-steps steps, fewer if its speed
is known earlier, and waits until the GPU memory is free again. Values go where
the command has {batch}, {accumulation}, {checkpointing}, ..., also in variables
before it (BATCH={batch} python train.py), or into copies of the config files.
A model that snug does not know is first recorded at two small batches.

Each trial is saved when it ends. After an interruption, run the same command
again to continue. snug history trials lists all trials.`

const tuneExample = `  snug tune -- python train.py --batch-size {batch} --grad-accum {accumulation}
  snug tune --limit 20GiB --html tune.html -- python train.py --config conf.yaml
  snug tune --dry-run --gpu A100-80GB -- python train.py --config conf.yaml
  snug tune --try workers=4,8 -- torchrun --nproc_per_node 4 train.py conf.yaml
  snug tune --launcher slurm --jobs 2 --gpu A100-80GB -- sbatch train.sbatch`

const tuneExits = `Exits with 1 if nothing fits.`

func newTune(env Env) *cobra.Command {
	var o tuneOptions
	cmd := &cobra.Command{
		Use:     "tune [flags] -- COMMAND...",
		Short:   "Find the fastest settings by short trials on the GPU",
		Long:    tuneLong + "\n\n" + tuneExits,
		Example: tuneExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return dashMissing(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runTune(cmd.Context(), env, &o, args) },
	}
	o.add(cmd)
	o.goal, o.nodes = "throughput", 1
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.target, "target-effective-batch", 0, "`N` samples per step over all GPUs (default: unchanged)")
	f.Float64Var(&o.margin, "margin", 0, "`share` of the card to keep free, like 0.15")
	f.StringVar(&o.reserve, "reserve", "", "memory to leave for other processes: a `size` like 2GiB")
	f.StringSliceVar(&o.lock, "lock", nil, "`fields` of the setup that must not change")
	f.StringSliceVar(&o.allow, "allow", nil, "`names` of settings that may change even though this affects training")
	o.addTo(f)
	f.StringArrayVar(&o.try, "try", nil, "other values to try at the end, like `workers=4,8`; may be repeated")
	f.IntVar(&o.trials, "trials", tune.DefaultTrials, "run at most `N` trials")
	f.IntVar(&o.steps, "max-steps", 100, "take at most `N` steps in a trial")
	f.Float64Var(&o.steady, "steady", 0.01, "end a trial once its speed is known to within this `fraction`; 0 for never")
	f.BoolVar(&o.worstFirst, "worst-first", true, "begin each trial with the longest samples of the dataset")
	f.DurationVar(&o.start, "start-timeout", 10*time.Minute, "`time` limit for the first step of a trial; 0 for none")
	f.DurationVar(&o.step, "step-timeout", 5*time.Minute, "`time` limit from one step to the next; 0 for none")
	f.DurationVar(&o.end, "end-timeout", 20*time.Second, "`time` limit for the command to exit after its last step")
	f.DurationVar(&o.timeout, "timeout", record.DefaultTimeout, "`time` limit for one trial; 0 for none")
	f.StringVar(&o.launcher, "launcher", "", "where trials run: this machine (default), or `slurm`, with a batch script as the command")
	f.IntVar(&o.jobs, "jobs", 1, "run up to `N` trials at once, each as a Slurm job")
	f.StringVar(&o.shared, "shared", "", "`folder` shared with the cluster's nodes (default: .snug/jobs in this folder)")
	f.DurationVar(&o.poll, "poll", slurm.DefaultPoll, "`time` between status queries to Slurm")
	f.BoolVar(&o.fresh, "fresh", false, "start over, without the earlier trials of the same command")
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be tried, and run nothing")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the output of the command")
	f.BoolVar(&o.apply, "apply", false, "write the settings into the config files")
	f.StringVar(&o.html, "html", "", "write the report as a page to this `file`")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

// runTune predicts, runs trials and reports.
func runTune(ctx context.Context, env Env, o *tuneOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	t, err := newTuner(ctx, env, o, args)
	if err != nil {
		return err
	}
	defer t.close()
	if o.dryRun {
		return t.showPlan()
	}
	if err := t.climbAll(ctx); err != nil {
		if t.key != "" {
			t.publish(nil, false)
		}
		return err
	}
	return t.report()
}

// check returns an error for flags that are wrong by themselves.
func (o *tuneOptions) check() error {
	if o.reserve == "" && o.margin == 0 && slices.Contains(trimmed(o.lock), "batch") && slices.Contains(trimmed(o.lock), "accumulation") && len(o.try) == 0 {
		return errors.New("--lock batch,accumulation leaves little to tune; unlock one of them, or give --try")
	}
	for _, n := range []struct {
		flag string
		n    int
	}{{"trials", o.trials}, {"max-steps", o.steps}, {"jobs", o.jobs}} {
		if n.n < 1 {
			return fmt.Errorf("--%s is %d; it must be at least 1", n.flag, n.n)
		}
	}
	for _, d := range []struct {
		flag string
		time time.Duration
	}{{"start-timeout", o.start}, {"step-timeout", o.step}, {"end-timeout", o.end}, {"timeout", o.timeout}} {
		if d.time < 0 {
			return fmt.Errorf("--%s %v: write a time like 10m, or 0 for none", d.flag, d.time)
		}
	}
	switch {
	case o.launcher != "" && o.launcher != "slurm":
		return fmt.Errorf("--launcher is %s; it must be slurm; other launchers, such as torchrun, are part of the command", o.launcher)
	case o.launcher == "" && (o.flags.Changed("jobs") || o.flags.Changed("shared") || o.flags.Changed("poll")):
		return errors.New("--jobs, --shared and --poll are for --launcher slurm; on one machine trials run one after the other")
	case o.poll < 100*time.Millisecond:
		return fmt.Errorf("--poll is %v; it must be at least 100ms", o.poll)
	case !(o.steady >= 0 && o.steady < 1):
		return fmt.Errorf("--steady %g: write a fraction like 0.01, or 0 for never", o.steady)
	case !(o.margin >= 0 && o.margin < 1):
		return fmt.Errorf("--margin %g: the share of the card to keep free must be at least 0 and less than 1", o.margin)
	case o.flags.Changed("target-effective-batch") && (o.target < 1 || o.target > maxEffective):
		return fmt.Errorf("--target-effective-batch %d: write a number of samples per step", o.target)
	case o.file != "" && (o.apply || len(o.paths) > 0 || o.flags.Changed("dir")):
		return errors.New("--setup cannot be combined with --apply or --config-path; give one of them")
	case o.file == "-":
		return errors.New("--setup -: standard input belongs to the command that is tuned; name a file")
	}
	return nil
}
