// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"snug/internal/config"
	"snug/internal/config/projects"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
)

// today contains the current runs, and where they were found.
type today struct {
	requests requests
	limited  bool            // every setup has its own limit; ignored if a card is named
	project  *config.Project // the project they were read from, or nil
	given    setup.Values    // settings that flags set differently from the project's files
	example  bool            // nothing was found: this is the built-in example
}

// library returns how the project's library creates LoRA adapters. A precision given by a flag is kept.
func (t *today) library(s *setup.Setup) plan.Library {
	if t.project == nil {
		return plan.Library{}
	}
	a := t.project.LoRA()
	if now, _ := t.project.Fields()["precision"].(string); now != s.Precision {
		return plan.Library{PEFT: a.PEFT}
	}
	return plan.Library{PEFT: a.PEFT, Weights: a.Weights, Precision: a.Precision}
}

// example returns the run that is used if nothing else is found: a small GPT-2, as in tutorials.
func example() map[string]any {
	return map[string]any{"model": map[string]any{"name": "gpt2"}, "batch": 4.0, "accumulation": 16.0, "seq": 1024.0}
}

// exampleCard is used in the example if there is no GPU.
const exampleCard = "RTX-4090"

// today reads the runs from --setup, from flags or from the folder's config files, or uses the example. Flags
// override files.
func (o *optimizeOptions) today(env Env) (*today, error) {
	over, err := o.fields()
	if err != nil {
		return nil, err
	}
	o.spread(over)
	if o.recorded != "" {
		over["model"] = map[string]any{"profile": o.recorded}
	}
	if o.file != "" {
		return o.todayOf(env, over)
	}
	t, flags := &today{}, over
	if over, err = o.found(env, t, over); err != nil {
		return nil, err
	}
	if over["batch"] == nil && o.target > 0 {
		over["batch"] = 1.0 // the starting point of the search does not matter
		o.noToday = true
		over["accumulation"] = float64(max(o.target/worldOf(over), 1))
	}
	rs, err := o.requestsOver(env, over)
	list, err := all(lengthInCode(t.project, rs), err)
	if err == nil {
		o.loads(env, t, flags, list)
	}
	t.requests, t.limited = each(list), limited(each(list))
	return t, err
}

// todayOf returns the runs of a file, which is read while they are planned. If no card is named, the file is
// first read once to see whether a card is needed.
func (o *optimizeOptions) todayOf(env Env, over map[string]any) (*today, error) {
	if o.gpu != "" || o.gpuMemory != "" || o.auto {
		rs, err := o.requestsOver(env, over)
		return &today{requests: rs}, err
	}
	in, err := env.open(o.file)
	if err != nil {
		return nil, err
	}
	file := &spool{in: in}
	first, err := o.requestsFrom(env, file, over)
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	t := &today{limited: limited(first)}
	if errors.Is(file.err, errSpooled) {
		_ = in.Close()
		return nil, fmt.Errorf("reading %s: %w", o.file, file.err)
	}
	file.again()
	rs, err := o.requestsFrom(env, file, over)
	t.requests = closing(rs, in)
	return t, err
}

// found applies the flags to the run in the folder's files, or to the example. A model on the command line is
// a separate run, unless files are named.
func (o *optimizeOptions) found(env Env, t *today, over map[string]any) (map[string]any, error) {
	asked := len(o.paths) > 0 || o.flags.Changed("dir") || o.apply
	if o.recorded == "" && over["model"] != nil && !asked && !o.completedBy(env, over, o.target == 0) {
		return over, nil
	}
	project, err := o.opened(env)
	switch {
	case !asked && o.recorded == "" && o.standsAlone(over, project):
		return over, nil
	case err != nil && !asked && o.started == "" && errors.Is(err, projects.ErrSeveral):
		return nil, o.several(env, over, err)
	case err != nil && (asked || !errors.Is(err, projects.ErrNothing)):
		return nil, err
	case err != nil && o.recorded != "":
		return over, nil
	case err != nil && projects.Unusable(err) != "":
		return nil, unusable(projects.Unusable(err))
	case err != nil && over["loop"] == nil && o.started == "" && o.loneLoop() != "":
		over["loop"] = o.loneLoop()
		return over, nil
	case err != nil:
		t.example = true
		return lay(over, example()), nil
	}
	project.SetTransformers(transformersOf(over))
	if gpus := o.gpus(); gpus > 0 || o.nodes > 1 {
		project.SetGPUs(max(gpus, 1) * o.nodes)
	}
	if d, ok := over["dist"].(map[string]any); ok && !o.flags.Changed("dist") {
		delete(d, "kind") // the kind comes from the files, or is DistributedDataParallel by default
	}
	t.given = givenOver(project, over)
	started, err := o.commanded(project, over)
	if err != nil {
		return nil, err
	}
	started.CopySettings(project.Run)
	files, dropped := beneath(o.modeled(env, started.Fields()), over)
	fields := lay(over, files)
	if o.recorded != "" { // the recording already contains their effects
		delete(fields, "lora")
		delete(fields, "quantization")
	}
	o.withReader(started, fields)
	o.follows(started, over)
	t.project, o.project, o.warnings = project, fromProject(project), append(notesOf(project, fields), dropped...)
	for _, l := range project.Locks() {
		text := fmt.Sprintf("%s, so %s does not change", l.Why, l.Setting)
		if l.Setting == "accumulation" {
			text += "; for another batch, give --target-effective-batch N"
		}
		o.warnings = append(o.warnings, text)
	}
	for _, m := range project.Missing() {
		if o.recorded != "" && strings.HasPrefix(m.Setting, "lora.") {
			continue
		}
		if o.lacks(fields, m.Setting) && (m.Setting != "batch" || o.target == 0) {
			return nil, o.lacksModel(project, m)
		}
	}
	return fields, nil
}

// spread sets the total number of GPUs in the fields. Several GPUs without a kind mean
// DistributedDataParallel.
func (o *optimizeOptions) spread(over map[string]any) {
	if o.nodes > 1 && !o.flags.Changed("gpus") {
		setup.Put(over, "dist.world", 1.0)
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

func worldOf(fields map[string]any) int {
	d, _ := fields["dist"].(map[string]any)
	world, _ := d["world"].(float64)
	return max(int(world), 1)
}

// places are the cards to plan for.
type places struct {
	cards []gpu.Card
	taken uint64 // bytes of the card that other processes use
	found string // how it was found, if the user did not name it
	here  bool   // the card is in this machine, so its processors are known
}

// place returns the cards that were named, or the first one of this machine.
func (o *optimizeOptions) place(ctx context.Context, env Env, t *today) (places, error) {
	switch {
	case strings.EqualFold(o.gpu, "all"):
		return places{cards: gpu.Cards()}, nil
	case o.gpu == "" && o.gpuMemory == "" && (o.auto || !t.limited):
		return o.here(ctx, env, t)
	}
	var out places
	for name := range strings.SplitSeq(o.gpu, ",") {
		one := o.setupFlags
		if one.gpu = strings.TrimSpace(name); one.gpu == "" && o.gpu != "" {
			return out, fmt.Errorf("--gpu %q has an empty name; remove the extra comma", o.gpu)
		}
		if strings.EqualFold(one.gpu, "all") {
			return out, fmt.Errorf("--gpu %q: all means every card; give it alone", o.gpu)
		}
		card, err := one.card()
		if err != nil {
			return out, err
		}
		out.cards = append(out.cards, card)
	}
	return out, nil
}

// here returns the first GPU of this machine that PyTorch would use, less the memory that other processes use.
func (o *optimizeOptions) here(ctx context.Context, env Env, t *today) (places, error) {
	visible := env.machine(ctx).Visible()
	if len(visible) > 0 {
		p := visible[0]
		out := places{cards: []gpu.Card{p.Card}, found: "the " + p.Card.Name + " found here", here: true}
		if p.Free > 0 && p.Free < p.Total {
			out.taken = p.Total - p.Free
		}
		return out, nil
	}
	if o.measured != nil && o.measured.Trials[0].GPU() != nil {
		card := o.measured.Trials[0].Card()
		return places{cards: []gpu.Card{card}, found: "the " + card.Name + " on which the run was measured", here: true}, nil
	}
	if t.example && !o.auto {
		card, err := gpu.Find(exampleCard)
		return places{cards: []gpu.Card{card}, found: "an " + exampleCard + ", because no GPU was found here"}, err
	}
	return places{}, errors.New("no GPU found here; name one with --gpu, or give --gpu-memory")
}

// limited reports whether every readable setup has its own limit.
func limited(rs requests) bool {
	for r, err := range rs {
		if err == nil && r.err == nil && r.setup.Limit == 0 {
			return false
		}
	}
	return true
}
