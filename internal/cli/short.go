// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/term"
)

// One-line answers for --short. Each begins with the name of its run.

const shortUsage = "print one line per answer"

// fp32Assumed is printed if nothing gives a precision.
const fp32Assumed = "; in fp32, since no --precision is given"

// shortOrJSON returns an error if both flags are given.
func shortOrJSON(short, json bool) error {
	if short && json {
		return errors.New("--short and --json cannot be combined; give one of them")
	}
	return nil
}

// short returns the verdict and the largest batch.
func (r estimateReport) short() string {
	line := r.name() + " " + r.sentence()
	if r.Fits != nil && r.Events() <= searchable {
		if m, err := r.largest(); err == nil { // a script may have its own batch
			line += fmt.Sprintf("; largest batch %s", term.Count(m.MaxBatch))
		}
	}
	if b, err := r.Sharded(r.card); b != nil && err == nil { // the peak is in loading, not in training
		line += fmt.Sprintf("; %v with --dist-load sharded", held(b))
	}
	if r.assumesFP32() {
		line += fp32Assumed
	}
	return line + "\n"
}

// short returns the largest batch and its memory.
func (m edge) short(card gpu.Card, fp32 bool) string {
	into := m.into(card)
	if m.Best == nil {
		line := fmt.Sprintf("%s: no batch fits %s; 1 needs %v", m.name(), into, held(m.Next))
		if fp32 {
			line += fp32Assumed
		}
		return line + "\n"
	}
	line := fmt.Sprintf("%s: batch %s fits %s, with %v", m.name(), term.Count(m.MaxBatch), into, held(m.Best))
	if sure := m.safeBatch(); sure < m.MaxBatch {
		line += fmt.Sprintf("; sure to fit up to %s", term.Count(sure))
	}
	if fp32 {
		line += fp32Assumed
	}
	return line + "\n"
}

// shortPlans writes one line for each plan: the settings that change, their memory and speed.
func shortPlans(w io.Writer, s term.Screen, plans []*plan.Plan, noToday bool) error {
	if len(plans) > 1 { // speeds in one unit, even if the current run fits only some of the cards
		noToday = noToday || slices.ContainsFunc(plans, func(p *plan.Plan) bool { return !fits(p.Current) })
	}
	for _, p := range plans {
		if _, err := io.WriteString(w, planReport{Plan: p, s: s, noToday: noToday}.short()+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// short returns a plan in one line.
func (r planReport) short() string {
	line := r.name() + " on " + r.into() + ": "
	if r.Recommended == nil {
		size, share := r.needs(r.Least)
		return line + fmt.Sprintf("nothing fits; the minimum is %s, %s of the available memory", size, share)
	}
	settings := "the settings stay as they are"
	if changed := changes(r.Plan); len(changed) > 0 {
		settings = changed.String()
	}
	size, share := r.takes(r.Recommended)
	line += fmt.Sprintf("%s; %s, %s", settings, size, share)
	if r.Tight {
		line += ", might not fit"
	}
	switch speed := r.speed(r.Recommended); {
	case strings.HasSuffix(speed, "/s"):
		unit, rate := throughput(r.Recommended)
		line += fmt.Sprintf(", %s %s/s", rate, unit)
	case speed != "":
		line += ", speed " + speed
	}
	if s := r.Recommended.Estimate.Setup; s.Batch*s.Accumulation*s.Dist.World() != r.Target {
		line += fmt.Sprintf("; %s, not %d", samplesText(s.Batch*s.Accumulation*s.Dist.World()), r.Target)
	}
	return line
}
