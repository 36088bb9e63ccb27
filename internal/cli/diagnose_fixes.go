// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"snug/internal/diagnose"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/setup"
	"snug/internal/units"
)

// sized are the verdicts about the size of a run, for which a simulation shows what helps.
var sized = map[diagnose.Code]bool{
	diagnose.TooBig: true, diagnose.LogitsTooBig: true, diagnose.FirstOptimizerStep: true, diagnose.Loading: true, diagnose.LongBatch: true, diagnose.Evaluation: true,
}

// compute simulates the failed run, if it is known, and adjusts the verdict and the advice to the result. It also
// looks in the script for tensors that are kept from step to step.
func (o *diagnoseOptions) compute(ctx context.Context, env Env, v *diagnose.Verdict, paths []string) error {
	described := o.describes(&o.projectFlags)
	if !sized[v.Code] || v.Message == nil {
		if described {
			env.note("the flags that describe the run have no effect: the cause is not its size")
		}
		return nil
	}
	kept := sourceFiles{env, paths}.kept(v.Script)
	s, place, err := o.failed(env, v, paths)
	if err != nil {
		return err
	}
	var card gpu.Card
	if s != nil {
		if card, err = o.cardOf(v, s); err != nil {
			return err
		}
	}
	if s == nil || card.Total == 0 && s.Limit == 0 {
		if described {
			env.note("the flags that describe the run have no effect: the message does not give the card's memory; add --gpu NAME or --gpu-memory SIZE")
		}
		if kept != nil {
			v.Keeps(kept)
		}
		return nil
	}
	sim, err := simulated(ctx, s, card, v.Message.Tried, o.command(place.dir, s, card))
	switch {
	case err == nil:
		if file := scriptOf(s, place.dir); kept == nil && v.Script == "" && file != "" {
			kept = sourceFiles{env, paths}.kept(file)
		}
		sim.addKept(kept, v.Script)
		sim.Settings, sim.Guessed = place.settings, !described && v.Script == ""
		v.Simulated(sim.Simulation)
	case described:
		return err
	case kept != nil:
		v.Keeps(kept)
	}
	return nil
}

// foundAt is where the settings of the failed run were found.
type foundAt struct {
	dir      string // the folder; "" if flags describe the run
	settings string // in words: "the settings of train.py"
}

// scriptOf returns the path of the script that a run's loop is read from; "" if there is none.
func scriptOf(s *setup.Setup, dir string) string {
	if !ofScript(s) {
		return ""
	}
	file := setup.ScriptOf(s.Loop)
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join(dir, file)
	}
	return file
}

// failed returns the setup of the failed run and where it was found: in flags, in configs next to the script that
// the traceback names, in the given folders, or in this folder. The setup is nil if none is found.
func (o *diagnoseOptions) failed(env Env, v *diagnose.Verdict, paths []string) (*setup.Setup, foundAt, error) {
	if o.describes(&o.projectFlags) {
		s, from, err := o.first(env, &o.projectFlags)
		return s, foundAt{"", from}, err
	}
	for _, dir := range runFolders(v, paths) {
		if s, from, err := o.first(env, &projectFlags{folder: dir}); err == nil {
			return s, foundAt{dir, from}, nil
		}
	}
	return nil, foundAt{}, nil
}

// first returns the first setup from flags and files, and where its settings are from.
func (o *diagnoseOptions) first(env Env, p *projectFlags) (s *setup.Setup, from string, err error) {
	f := o.setupFlags
	rs, err := f.requestsIn(env, p)
	if err != nil {
		return nil, "", err
	}
	from = "the given settings"
	if f.from != "" {
		from, _, _ = strings.Cut("the "+f.from, " (")
	}
	for r, err := range rs {
		if err == nil {
			err = r.err
		}
		return r.setup, from, err
	}
	return nil, "", errors.New("the setup file is empty")
}

// runFolders returns the folders in which the failed run may have been started: the folder of the script in
// the traceback, and others that contain that script.
func runFolders(v *diagnose.Verdict, paths []string) (out []string) {
	script := v.Script
	if script != "" && isFile(script) {
		out = append(out, filepath.Dir(script))
	}
	near := []string{"."}
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			near = append(near, p)
		} else if p != "-" {
			near = append(near, filepath.Dir(p))
		}
	}
	for _, dir := range near {
		if script == "" || isFile(filepath.Join(dir, filepath.Base(script))) {
			out = append(out, dir)
		}
	}
	return out
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// cardOf returns the card of the run: the one that flags name, or one with the memory in the error message. A
// memory cap becomes the setup's limit.
func (o *diagnoseOptions) cardOf(v *diagnose.Verdict, s *setup.Setup) (gpu.Card, error) {
	m := v.Message
	if limit := m.Limit; limit > 0 && (s.Limit == 0 || limit < s.Limit) {
		s.Limit = limit
	}
	card, err := o.card()
	if err == nil && o.gpu == "" && o.gpuMemory == "" && m.Total > 0 {
		card = gpu.ForMemory(m.Total)
	}
	return card, err
}

// simulation is a simulation of the failed run.
type simulation struct {
	diagnose.Simulation
	grows uint64 // bytes that a followed script keeps with each step
}

// addKept adds what the script keeps from step to step: the line that lint found, and the bytes found by
// following the script.
func (s *simulation) addKept(kept *diagnose.Kept, script string) {
	if kept == nil && s.grows > 0 {
		kept = &diagnose.Kept{File: script}
	}
	if kept != nil {
		kept.Bytes = s.grows
	}
	s.Kept = kept
}

// simulated simulates a run in which a request failed, and looks for changes that make it fit.
func simulated(ctx context.Context, s *setup.Setup, card gpu.Card, tried uint64, line runWords) (simulation, error) {
	if err := estimate.Runnable(s, card); err != nil {
		return simulation{}, err
	}
	a, err := estimate.Estimate(s, card)
	if err != nil {
		return simulation{}, err
	}
	_, need, size := estimateReport{Answer: a, card: card}.into()
	out := simulation{Simulation: diagnose.Simulation{
		Fits: a.Fits == nil || *a.Fits, Needs: need, Most: a.Interval[1] + need - a.PeakReserved, Has: size, Tensors: a.PeakAllocated, Loading: a.Phases.Load,
		Estimate: line.with("estimate"), Optimize: line.with("optimize"), Lengths: line.with("estimate", "--lengths FILE"),
	}}
	out.Logits = a.RequestsLogits(tried)
	if a.Run != nil {
		out.grows = a.Run.Growth()
	}
	if out.Fits || estimate.Profile(s) != nil {
		return out, nil
	}
	if ofScript(s) {
		out.Fixes = scriptFixes(s, card, out.Simulation)
		out.Searched = len(out.Fixes) > 0
		return out, nil
	}
	found, err := plan.Remedies(ctx, s, card)
	out.Searched = true
	for _, r := range found {
		out.Fixes = append(out.Fixes, diagnose.Fix{
			Change: fmt.Sprintf("train with %s: %v of %v in simulation, instead of %v", strings.Join(r.Flags, " "), units.Bytes(r.Takes), units.Bytes(size), units.Bytes(need)),
			Saves:  need - min(need, r.Takes), Command: line.with("estimate", r.Flags...),
		})
	}
	return out, err
}

// scriptFixes returns the largest batch with which a script fits. Flags cannot change a script's other settings.
func scriptFixes(s *setup.Setup, card gpu.Card, sim diagnose.Simulation) []diagnose.Fix {
	m, err := estimate.MaxBatch(s, card)
	if err != nil || m.MaxBatch < 1 || m.MaxBatch >= s.Batch {
		return nil
	}
	return []diagnose.Fix{{Change: fmt.Sprintf("set the script's batch to %d or less, instead of %d: it is the largest that fits %v in simulation, and the run takes %v",
		m.MaxBatch, s.Batch, units.Bytes(sim.Has), units.Bytes(sim.Needs))}}
}
