// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"time"
)

// watcher reads the reports during a run.
type watcher struct {
	folder   *Folder
	tell     func([]*Report)
	limits   *Session
	torch    bool // the probe saw a process import PyTorch
	finished time.Time
	blind    time.Time // when PyTorch was first seen without the probe
	looked   time.Time

	steps  int           // steps of all processes together
	silent time.Duration // time since the last step
	failed time.Duration // time since a process ran out of GPU memory
}

// over passes the reports on, and reports whether the time allowed after the last step, or after a process ran out of
// GPU memory, has passed. The other processes would wait for that process forever.
func (w *watcher) over(now time.Time, passed time.Duration) bool {
	reports, err := w.folder.Reports()
	if err != nil {
		return false
	}
	if w.tell != nil {
		w.tell(reports)
	}
	w.count(reports, passed)
	if w.limits.OOMTimeout > 0 && w.failed > w.limits.OOMTimeout {
		return true
	}
	finished := false
	for _, r := range reports {
		w.torch = w.torch || r.Versions != nil
		if r.Trained() || r.Ended() {
			finished = r.Ended()
			if !finished {
				break
			}
		}
	}
	if !finished || w.folder.keeps {
		w.finished = time.Time{}
		return false
	}
	if w.finished.IsZero() {
		w.finished = now
	}
	return now.Sub(w.finished) > cmp.Or(w.limits.EndTimeout, linger)
}

// count tracks how long nothing has happened.
func (w *watcher) count(reports []*Report, passed time.Duration) {
	steps := 0
	for _, r := range reports {
		steps += len(r.Steps)
		if r.OOM != nil && w.failed == 0 {
			w.failed = 1
		}
	}
	w.silent += passed
	if steps != w.steps {
		w.steps, w.silent = steps, 0
	}
	if w.failed > 0 {
		w.failed += passed
	}
}

// hangs reports whether a run has exceeded the time for its first or next step.
func (w *watcher) hangs(out *Outcome) bool {
	switch {
	case !w.finished.IsZero():
	case w.steps == 0 && w.limits.StartTimeout > 0 && w.silent > w.limits.StartTimeout:
		out.Hung = BeforeSteps
	case w.steps > 0 && w.limits.StepTimeout > 0 && w.silent > w.limits.StepTimeout:
		out.Hung = BetweenSteps
	}
	return out.Hung != NotHung
}

// sees checks now and then whether PyTorch runs without the probe, and reports whether to give up: otherwise the run
// would train to its end without a recording.
func (w *watcher) sees(now time.Time, out *Outcome) (giveUp bool) {
	if w.torch || now.Sub(w.looked) < time.Second {
		return false
	}
	w.looked = now
	if !unprobed(w.folder.Path) {
		w.blind = time.Time{}
		return false
	}
	if w.blind.IsZero() {
		w.blind = now
	}
	out.Unprobed = true
	return !w.folder.keeps && now.Sub(w.blind) > blind
}
