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

// compute simulates the failed run, if it is known, and puts the changes that would make it fit first.
func (o *diagnoseOptions) compute(ctx context.Context, env Env, v *diagnose.Verdict, paths []string) error {
	described := o.describes(&o.projectFlags)
	if !sized[v.Code] || v.Message == nil {
		if described {
			env.note("the flags that describe the run have no effect: the cause is not its size")
		}
		return nil
	}
	s, dir, err := o.failed(env, v, paths)
	if err != nil || s == nil {
		return err
	}
	card, err := o.cardOf(v, s)
	if err != nil || card.Total == 0 && s.Limit == 0 {
		return err
	}
	fixes, err := simulated(ctx, s, card, dir)
	if err != nil && described {
		return err
	}
	v.Compute(fixes)
	return nil
}

// failed returns the setup of the run that failed and the folder that it was found in: from flags, or from the
// configs beside the script that the traceback names, in the folders that were given, or here. It is nil if
// none is found.
func (o *diagnoseOptions) failed(env Env, v *diagnose.Verdict, paths []string) (*setup.Setup, string, error) {
	if o.describes(&o.projectFlags) {
		s, err := o.first(env, &o.projectFlags)
		return s, "", err
	}
	for _, dir := range runFolders(v, paths) {
		if s, err := o.first(env, &projectFlags{folder: dir}); err == nil {
			return s, dir, nil
		}
	}
	return nil, "", nil
}

// first returns the first setup from flags and files.
func (o *diagnoseOptions) first(env Env, p *projectFlags) (*setup.Setup, error) {
	f := o.setupFlags
	rs, err := f.requestsIn(env, p)
	if err != nil {
		return nil, err
	}
	for r, err := range rs {
		if err == nil {
			err = r.err
		}
		return r.setup, err
	}
	return nil, errors.New("the setup file is empty")
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

// simulated returns the changes that make a run fit. If it fits as it is, the fix says so.
func simulated(ctx context.Context, s *setup.Setup, card gpu.Card, dir string) ([]diagnose.Fix, error) {
	if err := estimate.Runnable(s, card); err != nil {
		return nil, err
	}
	a, err := estimate.Estimate(s, card)
	if err != nil {
		return nil, err
	}
	_, need, size := estimateReport{Answer: a, card: card}.into()
	if a.Fits == nil || *a.Fits {
		return []diagnose.Fix{{Change: fmt.Sprintf("look beyond the settings: as configured, the run takes %v of %v in simulation, which fits", units.Bytes(need), units.Bytes(size)), Command: estimateCommand(dir, nil, card)}}, nil
	}
	if estimate.Profile(s) != nil || ofScript(s) {
		return nil, nil
	}
	found, err := plan.Remedies(ctx, s, card)
	var out []diagnose.Fix
	for _, r := range found {
		out = append(out, diagnose.Fix{
			Change: fmt.Sprintf("train with %s: %v of %v in simulation, instead of %v", strings.Join(r.Flags, " "), units.Bytes(r.Takes), units.Bytes(size), units.Bytes(need)),
			Saves:  need - min(need, r.Takes), Command: estimateCommand(dir, r.Flags, card),
		})
	}
	return out, err
}

// estimateCommand returns the command that repeats a simulation; "" if the run was described by flags.
func estimateCommand(dir string, flags []string, card gpu.Card) string {
	if dir == "" {
		return ""
	}
	words := []string{"snug", "estimate"}
	if dir != "." {
		words = append(words, "--dir", dir)
	}
	words = append(words, flags...)
	if card.Total > 0 {
		words = append(words, fmt.Sprintf("--gpu-memory %.2fGiB", float64(card.Total)/units.GiB))
	}
	return strings.Join(words, " ")
}
