// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/diagnose"
	"snug/internal/run"
	"snug/internal/tune"
	"snug/internal/units"
)

// Result returns what a finished trial has shown about a candidate that trains the given number of samples per step
// on each of the given GPUs. The evidence is, in this order, what the probe reported, how the command ended and what
// it printed.
func (t *Trial) Result(samples, gpus int) tune.Result {
	r := tune.Result{Seconds: (t.Outcome.Took - t.Outcome.Waited).Seconds(), Ranks: t.ranks()}
	if t.Report != nil {
		t.peaks(&r)
	}
	switch out := t.Outcome; {
	case out.Stopped != nil:
		r.Outcome, r.Why = tune.Interrupted, "interrupted"
	case out.Fate.Lost() && !t.finished():
		r.Outcome, r.Why = tune.Lost, out.FateText
	case t.roomless() != "":
		r.Outcome, r.Why = tune.OutOfMemory, t.roomless()
	case out.Hung != run.NotHung:
		r.Outcome, r.Why = tune.Hung, t.hung()
	case t.Report != nil && !t.Report.NoGPU && (t.complete() || (out.TimedOut || out.Fate == run.TimeLimit) && len(t.Report.Steps) > tune.WarmUp+1):
		r.Outcome = tune.Fits
		t.speed(&r, samples, gpus)
	case out.Fate == run.TimeLimit:
		r.Outcome, r.Why = tune.Hung, out.FateText
	case out.TimedOut:
		r.Outcome, r.Why = tune.Hung, t.tooSlow()
	case out.Fate == run.HostMemory:
		r.Outcome, r.Why = tune.Crashed, out.FateText
	default:
		r.Outcome, r.Why = tune.Crashed, t.crashed()
	}
	return r
}

// complete reports whether a run took all its steps or ended by itself earlier.
func (t *Trial) complete() bool {
	if t.Outcome.Exit.Code == 0 {
		return true
	}
	return !slices.ContainsFunc(t.Outcome.Reports, func(x *run.Report) bool { return x.Trained() && x.End != "steps" })
}

// finished reports whether the probe has seen the last step. After that, it does not matter how the run ends.
func (t *Trial) finished() bool {
	return t.Report != nil && t.Report.End == "steps" && t.complete()
}

// ranks returns the peaks of the processes that trained, by rank.
func (t *Trial) ranks() []tune.Rank {
	var out []tune.Rank
	for _, x := range t.Outcome.Reports {
		if x.World > 1 && (x.Trained() || x.OOM != nil) {
			out = append(out, tune.Rank{Rank: x.Rank, Reserved: x.PeakReserved(), Allocated: x.PeakAllocated()})
		}
	}
	slices.SortFunc(out, func(a, b tune.Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}

// peaks adds the memory of the process that used the most.
func (t *Trial) peaks(r *tune.Result) {
	x := t.Report
	r.Reserved, r.Allocated, r.Steps = x.PeakReserved(), x.PeakAllocated(), len(x.Steps)
	if s := x.State; s != nil {
		r.Lasting = s.Parameters + s.Gradients + s.Optimizer + s.Buffers
	}
	var seen []run.Step // steps whose memory was reported
	for _, s := range x.Steps {
		if s.PeakReserved > 0 {
			seen = append(seen, s)
		}
	}
	if x.Peaks != nil {
		seen = append(seen, *x.Peaks)
	}
	if len(seen) < 2 {
		return
	}
	warm, last := seen[min(tune.WarmUp, len(seen)-1)], seen[len(seen)-1]
	r.Retries = max(last.Retries-warm.Retries, 0)
	half := seen[len(seen)/2]
	if steps := last.N - half.N; half.N > tune.WarmUp && steps > 0 {
		r.Growth = above(last.PeakReserved, half.PeakReserved) / uint64(steps)
	}
}

// speed adds the run's speed, which is its slowest process's, because processes wait for each other.
func (t *Trial) speed(r *tune.Result, samples, gpus int) {
	for _, x := range t.Outcome.Reports {
		if !x.Trained() {
			continue
		}
		seconds, noise := tune.Speed(x.StepTimes())
		if seconds <= 0 {
			continue
		}
		if rate := float64(samples*max(gpus, x.World)) / seconds; r.Rate == 0 || rate < r.Rate {
			r.Rate, r.Noise = rate, noise
		}
	}
	if x := t.Report.Longest; x != nil {
		r.Longest = longestText(x)
	}
}

// longestText describes the longest batch, as far as it is known.
func longestText(x *run.Longest) string {
	switch {
	case x.Looked == 0:
		return "the dataset cannot be indexed, so the longest batch was not tried first"
	case x.Alike:
		return fmt.Sprintf("%d of %d samples were checked; all have the same length", x.Looked, x.Samples)
	}
	return fmt.Sprintf("the first batch contained the longest of the %d samples checked (of %d)", x.Looked, x.Samples)
}

// roomless describes how a run ran out of GPU memory; "" if it did not.
func (t *Trial) roomless() string {
	for _, x := range t.Outcome.Reports {
		if x.OOM == nil {
			continue
		}
		who := ""
		if x.World > 1 {
			who = fmt.Sprintf("rank %d ", x.Rank)
		}
		return fmt.Sprintf("%sran out of GPU memory after %s, asking for %v", who, stepCount(len(x.Steps)), units.Bytes(x.OOM.Asked))
	}
	if t.Outcome.Exit.Code == 0 {
		return ""
	}
	log, err := diagnose.ReadLog(bytes.NewReader(t.Outcome.Tail))
	if err != nil {
		return ""
	}
	for _, m := range log.Messages {
		switch m.Form {
		case diagnose.Torch, diagnose.TorchAsync, diagnose.Driver, diagnose.Library:
			return "its output reports that GPU memory ran out"
		}
	}
	return ""
}

// hung describes where a run got stuck.
func (t *Trial) hung() string {
	m := t.session.plan.Measure
	if t.Outcome.Hung == run.BeforeSteps {
		return fmt.Sprintf("it took no step in %v and was stopped; --start-timeout allows more time", m.StartTimeout)
	}
	steps := 0
	for _, x := range t.Outcome.Reports {
		steps = max(steps, len(x.Steps))
	}
	return fmt.Sprintf("it took no further step in %v after step %d and was stopped; --step-timeout allows more time", m.StepTimeout, steps)
}

// diskFull is what programs print when the disk is full.
const diskFull = "No space left on device"

// crashed describes why a run failed.
func (t *Trial) crashed() string {
	text := ""
	if t.err != nil {
		text = strings.TrimPrefix(t.err.Error(), "the command ")
	} else {
		text = t.Outcome.Exit.String() + lastLine(t.Outcome.Tail)
	}
	if strings.Contains(string(t.Outcome.Tail), diskFull) && !strings.Contains(text, diskFull) {
		text += "; it printed \"" + diskFull + "\""
	}
	return t.session.secrets.Hide(text)
}

// DiskIsFull reports whether a trial failed because the disk is full, which no setting changes.
func (t *Trial) DiskIsFull() bool {
	return t.Outcome != nil && t.Outcome.Exit.Code != 0 && strings.Contains(string(t.Outcome.Tail), diskFull)
}
