// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snug/internal/plan"
	"snug/internal/watch"
	"snug/internal/watch/export"
)

type watchOptions struct {
	replay     string
	speed      float64
	gpus       []int
	pids       []int
	rate       float64
	json       bool
	plain      bool
	once       bool
	every      int
	record     string
	csv        string
	board      string
	prometheus string
	on         []string
	notify     bool
	wandb      bool
	run        optimizeOptions // the flags that describe the run

	paced   bool          // --speed was given
	command []string      // the words after --
	hooks   []export.Hook // from --on and --notify
}

const watchLong = `Watch a training run and report how its GPU memory behaves: whether it is
steady, varies with the batches or leaks, how many steps remain before it runs
out, and what to do.

Without arguments, snug watches all GPUs of this machine and the processes on
them. Everything after -- is a training command for snug to start; snug then
also sees its steps and can tell a leak from PyTorch's cache. On a terminal the
view fills the screen; otherwise snug prints a line when the state changes.

The states are warming-up, good, underused, near-limit, leaking, cache-only,
ragged (memory varies with the batch), evaluating, thrashing (the allocator
keeps flushing its cache), starved (the GPU waits for data), other-process,
out-of-memory and ended.

If the run is known, from flags, from --setup, from a profile (--model
memory.snug) or, if snug starts it, from the folder's config files, snug
predicts the memory of its steps and names the first one that differs.
The advice then comes from snug optimize, and a run that snug started is saved
in snug history with its prediction.`

const watchExample = `  snug watch
  snug watch -- python train.py
  snug watch --pid 4711 --record run.jsonl
  snug watch --replay run.jsonl --speed 10
  snug watch --setup run.yaml -- python train.py
  snug watch --on leaking 'notify-send "$SNUG_WHY"' -- python train.py
  snug watch --plain --prometheus :9835`

const watchExits = `With a command, snug exits with the command's exit code. Otherwise it exits with
1 if the run ran out of memory, or if it leaked, even if it then finished
normally.`

func newWatch(env Env) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:     "watch [flags] [-- COMMAND...]",
		Short:   "Watch a run: its state, leaks, and when memory runs out",
		Long:    watchLong + "\n\n" + watchExits,
		Example: watchExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paced = cmd.Flags().Changed("speed")
			if o.once && !cmd.Flags().Changed("rate") {
				o.rate = onceRate
			}
			if err := o.complete(cmd, args); err != nil {
				return err
			}
			return runWatch(cmd.Context(), env, &o)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntSliceVar(&o.gpus, "gpu", nil, "watch only these GPUs, numbered as in nvidia-smi, such as `0,1`")
	f.IntSliceVar(&o.pids, "pid", nil, "watch only these `processes`")
	f.Float64Var(&o.rate, "rate", 1, "take `N` samples per second, up to 10")
	f.StringVar(&o.record, "record", "", "write a recording to this `file`")
	f.StringVar(&o.replay, "replay", "", "show a recording instead: a `file` that --record wrote; - is standard input")
	f.Float64Var(&o.speed, "speed", 0, "replay at `N` times the speed of the run; 0 does not wait (default 1 on the full screen, else 0)")
	f.BoolVar(&o.plain, "plain", false, "print a line of text when the state changes, and at the end")
	f.BoolVar(&o.json, "json", false, "print a line of JSON when the state changes, and at the end")
	f.IntVar(&o.every, "every", 0, "print a line every `N` steps as well")
	f.BoolVar(&o.once, "once", false, "watch for a few seconds, print one reading and exit")
	f.StringVar(&o.csv, "csv", "", "write samples and steps to this `file`")
	f.StringVar(&o.board, "tensorboard", "", "write an event file for TensorBoard into this `folder`")
	f.StringVar(&o.prometheus, "prometheus", "", "serve metrics for Prometheus at this `address`, like localhost:9835")
	f.StringArrayVar(&o.on, "on", nil, "run a command when a `state` is reached: --on leaking 'COMMAND', or leaking=COMMAND; may be repeated")
	f.BoolVar(&o.notify, "notify", false, "show a desktop notification when a run leaks, comes near its limit or runs out of memory")
	f.BoolVar(&o.wandb, "wandb", false, "add memory to what the command logs to Weights & Biases")
	f.StringVar(&o.run.file, "setup", "", "`file` that describes the run, JSON or YAML, to compare it with its prediction")
	o.run.addSettings(cmd)
	o.run.addTo(f)
	o.run.nodes, o.run.goal = 1, string(plan.Throughput)
	return cmd
}

// complete checks the flags and splits the arguments: commands of --on before --, the training command after it.
func (o *watchOptions) complete(cmd *cobra.Command, args []string) error {
	before := args
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		before, o.command = args[:at], args[at:]
		if len(o.command) == 0 || o.command[0] == "" {
			return errors.New("there is no command after --; write snug watch -- python train.py")
		}
	}
	rest, err := o.parseHooks(before)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("put -- before the training command and after all options of snug: snug watch -- %s ...", strings.Join(rest, " "))
	}
	return o.check()
}

// parseHooks reads --on. A state without = takes its command from the arguments, in order; the other arguments are
// returned.
func (o *watchOptions) parseHooks(args []string) ([]string, error) {
	for _, text := range o.on {
		name, command, joined := strings.Cut(text, "=")
		state, err := export.ParseState(name)
		if err != nil {
			return nil, fmt.Errorf("--on: %w", err)
		}
		if !joined {
			if len(args) == 0 {
				return nil, fmt.Errorf("--on %s needs a command: --on %s 'notify-send leak'", name, name)
			}
			command, args = args[0], args[1:]
		}
		if strings.TrimSpace(command) == "" {
			return nil, fmt.Errorf("--on %s: the command is empty", name)
		}
		o.hooks = append(o.hooks, export.Hook{State: state, Command: []string{"sh", "-c", command}})
	}
	if o.notify {
		for _, s := range []watch.State{watch.Leaking, watch.NearLimit, watch.OutOfMemory} {
			o.hooks = append(o.hooks, export.Notification(s))
		}
	}
	return args, nil
}

// mostRate is how many times a second NVML updates its numbers.
const mostRate = 10

// check returns an error for flags that contradict each other or are wrong by themselves.
func (o *watchOptions) check() error {
	live := len(o.gpus) > 0 || len(o.pids) > 0 || len(o.command) > 0
	switch {
	case o.replay != "" && live:
		return errors.New("--replay shows a recording and cannot be combined with --gpu, --pid or a command")
	case o.replay == "" && o.paced:
		return errors.New("--speed is for --replay")
	case o.speed < 0:
		return fmt.Errorf("--speed %g: write a number above 0, or 0 for no waiting", o.speed)
	case !(o.rate > 0 && o.rate <= mostRate):
		return fmt.Errorf("--rate %g: write a number above 0, up to %d", o.rate, mostRate)
	case len(o.pids) > 0 && len(o.command) > 0:
		return errors.New("--pid is for runs that snug did not start; give --pid or a command, not both")
	case o.every < 0:
		return fmt.Errorf("--every is %d; it must be at least 1", o.every)
	case o.every > 0 && o.once:
		return errors.New("--every and --once cannot be combined; give one of them")
	case o.plain && o.json:
		return errors.New("--plain and --json cannot be combined; give one of them")
	case o.wandb && len(o.command) == 0:
		return errors.New("--wandb works inside a run that snug starts: snug watch --wandb -- python train.py")
	}
	for _, n := range append(append([]int{}, o.gpus...), o.pids...) {
		if n < 0 {
			return fmt.Errorf("%d is neither a GPU nor a process", n)
		}
	}
	return nil
}

// interval returns the time between samples.
func (o *watchOptions) interval() time.Duration {
	return time.Duration(float64(time.Second) / o.rate)
}

// runWatch opens the sources and sinks that the flags name, processes events until the end, and returns the
// verdict.
func runWatch(ctx context.Context, env Env, o *watchOptions) error {
	if env.OnLongRun != nil {
		env.OnLongRun()
	}
	s, err := newWatching(env, o)
	if err != nil {
		return err
	}
	ctx, stop := s.untilInterrupted(ctx)
	defer stop()
	if s.fullScreen() {
		err = s.onScreen(ctx)
	} else {
		err = s.take(ctx)
	}
	s.remember()
	return errors.Join(err, s.close(), s.verdict(err))
}
