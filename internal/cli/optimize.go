// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
	"snug/internal/units"
)

type optimizeOptions struct {
	setupFlags
	auto, profile, apply bool
	target               int
	configPath           string
	nodes                int
	margin               float64
	reserve              string
	goal                 string
	lock, allow          []string
	json                 bool
}

const optimizeLong = `Choose the settings that train fastest on a card.

Micro-batch, accumulation, precision, checkpointing, attention, the optimizer's
kernel, sharding and the allocator's options are searched; every figure is
simulated. The effective batch (batch x accumulation x GPUs) stays what it is
today, or what --target-effective-batch says.`

const optimizeExample = `  snug optimize --model gpt2 --batch 4 --accumulation 8 --gpu RTX-4090
  snug optimize --setup run.yaml --gpu A100-80GB --gpus 4 --lock precision
  snug optimize --setup run.yaml --gpu all
  snug optimize --model bert-base --gpu-memory 24 --target-effective-batch 256`

func newOptimize(env Env) *cobra.Command {
	var o optimizeOptions
	cmd := &cobra.Command{
		Use:     "optimize",
		Short:   "Choose the settings that train fastest on a card",
		Long:    optimizeLong,
		Example: optimizeExample,
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return runOptimize(env, o) },
	}
	o.add(cmd)
	f := cmd.Flags()
	f.SortFlags = false
	f.Lookup("gpu").Usage = "`name` of the card to fit; several, or all"
	f.BoolVar(&o.auto, "auto", false, "fit the GPU of this machine, as without --gpu")
	f.IntVar(&o.nodes, "nodes", 1, "`N` machines with --gpus GPUs each")
	f.IntVar(&o.target, "target-effective-batch", 0, "`N` samples a step over all GPUs (default today's)")
	f.Float64Var(&o.margin, "margin", 0, "`share` of the card that stays free: 0.15")
	f.StringVar(&o.reserve, "reserve", "", "`size` of the card that is for others: 2GiB")
	f.StringVar(&o.goal, "goal", "throughput", "`goal`: throughput, balanced, quick")
	f.StringSliceVar(&o.lock, "lock", nil, "`fields` of the setup that stay as they are")
	f.StringSliceVar(&o.allow, "allow", nil, "`fields` that may change what is trained: seq")
	f.StringVar(&o.configPath, "config-path", "", "`path` of the config file to read and change")
	f.BoolVar(&o.profile, "profile", false, "measure a real step first")
	f.BoolVar(&o.apply, "apply", false, "write the settings into the config files")
	f.BoolVar(&o.json, "json", false, "print one JSON object a setup and card")
	return cmd
}

// runOptimize is the command: read, choose a card, search, print.
func runOptimize(env Env, o optimizeOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	requests, err := o.runs(env)
	if err != nil {
		return err
	}
	cards, err := o.cards(requests)
	if err != nil {
		return err
	}
	none := false
	failed, err := answer(env, o.json, requests,
		func(s *setup.Setup) ([]*plan.Plan, error) { return o.plans(s, cards) },
		func(plans []*plan.Plan) error {
			for _, p := range plans {
				none = none || p.Recommended == nil
			}
			return o.print(env, plans)
		})
	if err == nil && failed == 0 && none {
		return found{}
	}
	return err
}

// check is what can be said against the flags alone.
func (o *optimizeOptions) check() error {
	switch {
	case o.profile:
		return errors.New("--profile: measuring a real step is not part of this version; leave it out to plan by simulation")
	case o.apply, o.configPath != "":
		return errors.New("--apply and --config-path: writing config files is not part of this version; leave them out to see the settings")
	case o.auto && (o.gpu != "" || o.gpuMemory != ""):
		return errors.New("--auto looks for the GPU itself; leave out --gpu and --gpu-memory, or --auto")
	case o.nodes < 1:
		return fmt.Errorf("--nodes %d: write at least 1", o.nodes)
	case o.flags.Changed("target-effective-batch") && o.target < 1:
		return fmt.Errorf("--target-effective-batch %d: write at least 1", o.target)
	}
	return nil
}

// plans searches on one card in full, or on several side by side.
func (o *optimizeOptions) plans(s *setup.Setup, cards []gpu.Card) ([]*plan.Plan, error) {
	r := plan.Request{
		Setup: s, Card: cards[0], Target: o.target, Margin: o.margin, Goal: plan.Goal(o.goal),
		Lock: trimmed(o.lock), Allow: trimmed(o.allow),
	}
	if o.reserve != "" {
		size, err := units.Parse(o.reserve, units.GiB)
		if err != nil {
			return nil, fmt.Errorf("--reserve: %w", err)
		}
		r.Reserve = uint64(size)
	}
	if len(cards) > 1 {
		return plan.SearchAll(r, cards)
	}
	p, err := plan.Search(r)
	return []*plan.Plan{p}, err
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

// runs reads the setups as they are today.
func (o *optimizeOptions) runs(env Env) ([]request, error) {
	over, err := o.fields()
	if err != nil {
		return nil, err
	}
	o.spread(over)
	if over["batch"] == nil && o.file == "" && o.target > 0 {
		over["batch"] = 1.0 // where the search starts from does not matter
		over["accumulation"] = float64(max(o.target/o.world(over), 1))
	}
	return o.requestsOver(env, over)
}

// spread puts the GPUs of all machines into the fields. More than one GPU
// without a word on how is DistributedDataParallel.
func (o *optimizeOptions) spread(over map[string]any) {
	if o.nodes > 1 && !o.flags.Changed("gpus") {
		put(over, "dist.world", 1.0)
	}
	d, ok := over["dist"].(map[string]any)
	if !ok {
		return
	}
	if world, ok := d["world"].(float64); ok {
		d["world"] = world * float64(o.nodes)
		if d["kind"] == nil && o.file == "" && world*float64(o.nodes) > 1 {
			d["kind"] = "ddp"
		}
	}
}

func (o *optimizeOptions) world(over map[string]any) int {
	d, _ := over["dist"].(map[string]any)
	world, _ := d["world"].(float64)
	return max(int(world), 1)
}

// cards is the cards to plan for.
func (o *optimizeOptions) cards(requests []request) ([]gpu.Card, error) {
	if strings.EqualFold(o.gpu, "all") {
		return gpu.Cards(), nil
	}
	var out []gpu.Card
	for name := range strings.SplitSeq(o.gpu, ",") {
		one := o.setupFlags
		one.gpu = strings.TrimSpace(name)
		card, err := one.card()
		if err != nil {
			return nil, err
		}
		out = append(out, card)
	}
	if out[0].Total == 0 && !limited(requests) {
		return nil, errors.New("which GPU? none was found here; name one with --gpu, or give --gpu-memory")
	}
	return out, nil
}

// limited says whether every setup brings its own limit.
func limited(requests []request) bool {
	for _, r := range requests {
		if r.err == nil && r.setup.Limit == 0 {
			return false
		}
	}
	return true
}

// print is one object a card for machines; for people a report, or a table where
// there are several cards.
func (o *optimizeOptions) print(env Env, plans []*plan.Plan) error {
	switch {
	case o.json:
		for _, p := range plans {
			if err := printJSON(env.Stdout, p); err != nil {
				return err
			}
		}
		return nil
	case len(plans) > 1:
		return cardsText(env.Stdout, env.screen(), plans, strings.EqualFold(o.gpu, "all"))
	}
	return planReport{plans[0], env.screen(), env.CPUs}.text(env.Stdout)
}
