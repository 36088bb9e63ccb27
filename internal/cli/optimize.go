// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/record"
	"snug/internal/setup"
	"snug/internal/units"
)

type optimizeOptions struct {
	setupFlags
	projectFlags
	auto, profile, apply bool
	target               int
	nodes                int
	margin               float64
	reserve              string
	goal                 string
	lock, allow          []string
	vary                 []string
	json, short, explain bool

	started  string         // with --profile: the script that the command starts, if it is in the folder
	measured *record.Result // the result of --profile
	recorded string         // the profile it wrote, if that is the model
	noToday  bool           // no batch was given
}

const optimizeLong = `Choose the settings that train fastest on a card.

Searches over micro-batch, accumulation, precision, checkpointing, attention,
the optimizer's kernel, sharding and the allocator's options. Every figure is
simulated. The effective batch (batch x accumulation x GPUs) is kept, or
rounded down a little, with a note, if it does not divide well;
--target-effective-batch gives another.

With --profile, the training command after -- (or the one in snug.yaml) first
runs a few steps at small batches, as with snug profile. For a known model, this
shows how accurate its estimates are on this machine. For any other model, snug
plans with the recorded profile, as with --model memory.snug.`

const optimizeExample = `  snug optimize gpt2 --seq 1024 --batch 4 --accumulation 8 --gpu RTX-4090
  snug optimize --setup run.yaml --gpu A100-80GB --gpus 4 --lock precision
  snug optimize --setup run.yaml --gpu all
  snug optimize bert-base --seq 128 --gpu-memory 24 --target-effective-batch 256
  snug optimize --profile -- python train.py --batch-size {batch}`

func newOptimize(env Env) *cobra.Command {
	var o optimizeOptions
	cmd := &cobra.Command{
		Use:     "optimize [flags] [MODEL | [--profile] -- COMMAND...]",
		Short:   "Choose the settings that train fastest on a card",
		Long:    optimizeLong + "\n\n" + manySetups,
		Example: optimizeExample,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.profile && cmd.ArgsLenAtDash() == 0 {
				return nil
			}
			if o.profile && len(args) > 0 && cmd.ArgsLenAtDash() < 0 {
				return dashMissing(cmd, args)
			}
			return o.runArgs(cmd, args, &o.projectFlags)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runOptimize(cmd.Context(), env, o, args) },
	}
	o.add(cmd)
	f := cmd.Flags()
	f.SortFlags = false
	f.Lookup("gpu").Usage = "`name` of the card, a list of names, or all (default: this machine's)"
	f.BoolVar(&o.auto, "auto", false, "use the GPU of this machine, unless --gpu or --gpu-memory is given")
	f.IntVar(&o.nodes, "nodes", 1, "`N` machines with --gpus GPUs each")
	f.IntVar(&o.target, "target-effective-batch", 0, "`N` samples per step over all GPUs (default: unchanged)")
	f.Float64Var(&o.margin, "margin", 0, "`share` of the card to keep free, like 0.15")
	f.StringVar(&o.reserve, "reserve", "", "memory to leave for other processes: a `size` like 2GiB")
	f.StringVar(&o.goal, "goal", "throughput", "`goal`: throughput, balanced, quick")
	f.StringSliceVar(&o.lock, "lock", nil, "`fields` of the setup that must not change")
	f.StringSliceVar(&o.allow, "allow", nil, "`names` of settings that may change even though this affects training: seq, precision, optimizer, lora, quantization, liger, ..., or all")
	o.addTo(f)
	f.BoolVar(&o.profile, "profile", false, "first measure real steps of the command after --")
	f.StringArrayVar(&o.vary, "vary", nil, "with --profile: sizes to run, as `name=N,N` (default batch=2,3)")
	f.BoolVar(&o.apply, "apply", false, "write the settings into the config files")
	f.BoolVar(&o.json, "json", false, "print one JSON object per setup and card")
	f.BoolVar(&o.short, "short", false, shortUsage)
	f.BoolVar(&o.explain, "explain", false, "show the whole report, even if it is longer than the screen")
	return cmd
}

// runOptimize reads the runs, chooses a card, searches, and prints and writes the settings.
func runOptimize(ctx context.Context, env Env, o optimizeOptions, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	today, err := o.read(ctx, env, args)
	if err != nil {
		return err
	}
	files := today.writer()
	where, err := o.place(ctx, env, today)
	if err != nil {
		return err
	}
	none, notes, before := false, notesOnce{}, ""
	if today.example && (o.json || o.short || len(where.cards) > 1) { // the full report contains this note
		notes.say(env, []string{noConfig})
	}
	var simulated atomic.Int64 // the number of runs simulated in all searches
	failed, err := answer(env, o.json, searched(&simulated), today.requests,
		func(s *setup.Setup) ([]*plan.Plan, error) {
			return o.plans(ctx, env, s, where, today.library(s), files, &simulated)
		},
		func(plans []*plan.Plan) error {
			if !o.json && !o.short {
				_, _ = io.WriteString(env.Stdout, before)
				before = "\n\n"
			}
			err := o.finish(env, today, where, plans)
			none = none || o.misses(plans)
			for _, p := range plans {
				now, card := p.Current.Estimate.Setup, p.Card
				if len(plans) > 1 {
					card = gpu.Card{} // a table of several cards shows the precision of each
				}
				notes.about(env, now, card)
				notes.say(env, o.warnings)
				notes.say(env, files.refusals(p))
				if len(plans) > 1 || p.Recommended == nil { // otherwise the plan's own notes contain these
					notes.uncounted(env, now)
				}
			}
			return err
		})
	if err == nil && failed == 0 && none {
		return found{}
	}
	return err
}

// misses reports whether some card has no settings that fit. With --gpu all, the question is which cards have some, and
// misses reports whether none has.
func (o *optimizeOptions) misses(plans []*plan.Plan) bool {
	if strings.EqualFold(o.gpu, "all") {
		return fitting(plans) == 0
	}
	return fitting(plans) < len(plans)
}

// Limits for numbers in flags: a larger number is probably a typo.
const (
	maxEffective = 1 << 30
	maxNodes     = 1 << 13
)

// check returns an error for flags that are wrong by themselves.
func (o *optimizeOptions) check() error {
	switch {
	case len(o.vary) > 0 && !o.profile:
		return errors.New("--vary needs --profile; give both")
	case o.file != "" && (o.apply || len(o.paths) > 0 || o.flags.Changed("dir")):
		return errors.New("--setup cannot be combined with --apply or --config-path; give one of them")
	case o.nodes < 1:
		return fmt.Errorf("--nodes is %d; it must be at least 1", o.nodes)
	case o.nodes > maxNodes:
		return fmt.Errorf("--nodes %d: write at most %d", o.nodes, maxNodes)
	case o.flags.Changed("target-effective-batch") && o.target < 1:
		return fmt.Errorf("--target-effective-batch is %d; it must be at least 1", o.target)
	case o.target > maxEffective:
		return fmt.Errorf("--target-effective-batch %d: that is too many samples per step", o.target)
	}
	return shortOrJSON(o.short, o.json)
}

// read returns the current runs. With --profile they are measured first.
func (o *optimizeOptions) read(ctx context.Context, env Env, args []string) (*today, error) {
	if o.profile {
		return o.measureFirst(ctx, env, args)
	}
	return o.today(env)
}

// searched returns a function for the status line, which shows the number of simulated runs.
func searched(simulated *atomic.Int64) func() string {
	return func() string { return fmt.Sprintf("searching, %d runs simulated", simulated.Load()) }
}

// plans searches one card in full, or several in parallel, and counts the simulated runs.
func (o *optimizeOptions) plans(ctx context.Context, env Env, s *setup.Setup, where places, library plan.Library, files *writer, simulated *atomic.Int64) ([]*plan.Plan, error) {
	r := plan.Request{
		Setup: s, Card: where.cards[0], Target: o.target, Margin: o.margin, Goal: plan.Goal(o.goal),
		Reserve: where.taken, Lock: trimmed(o.lock), Allow: trimmed(o.allow), Library: library, Done: simulated,
	}
	if files != nil {
		r.Writable = files.writable
		for _, l := range files.project.Locks() {
			r.Lock = append(r.Lock, l.Setting)
		}
	}
	if len(where.cards) == 1 {
		r.Measured = o.residual(env, s, r.Card)
	}
	if err := o.stops(s, where, files); err != nil {
		return nil, err
	}
	if o.reserve != "" {
		size, err := units.Parse(o.reserve, units.GiB)
		if err != nil {
			return nil, fmt.Errorf("--reserve: %w", err)
		}
		if total := r.Card.Total; len(where.cards) == 1 && total > 0 && uint64(size) >= total {
			return nil, fmt.Errorf("--reserve %s: the card has %v, so nothing is left", o.reserve, units.Bytes(total))
		}
		r.Reserve += uint64(size)
	}
	if len(where.cards) > 1 {
		if env.OnLargeHeap != nil {
			env.OnLargeHeap()
		}
		return plan.SearchAll(ctx, r, where.cards)
	}
	p, err := plan.SearchContext(ctx, r)
	return []*plan.Plan{p}, err
}

// stops returns an error if the run would fail on the card and no plan can avoid it, because that would require
// changing a setting that must not change.
func (o *optimizeOptions) stops(s *setup.Setup, where places, files *writer) error {
	err := estimate.Runnable(s, where.cards[0])
	if err == nil || len(where.cards) > 1 {
		return nil
	}
	if slices.Contains(trimmed(o.lock), "attention") || o.goal == string(plan.Quick) || files != nil && !files.writable("attention", "sdpa") {
		return err
	}
	return nil
}

func trimmed(names []string) []string {
	var out []string
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
