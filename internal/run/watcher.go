// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"time"
)

// watcher reads the reports while the run goes on.
type watcher struct {
	folder   *Folder
	tell     func([]*Report)
	limits   *Session
	torch    bool // a process has imported PyTorch, as far as the probe saw
	finished time.Time
	blind    time.Time // since when PyTorch has been in use without the probe
	looked   time.Time

	steps  int           // of all processes together
	silent time.Duration // since the last of them
	failed time.Duration // since a process ran out of GPU memory
}

// over passes the reports on, and reports whether the time that a run has to end after its last step, or after a
// process ran out of GPU memory, is over. The others would wait for that process for ever.
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

// count notes how long nothing has happened.
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

// hangs reports whether a run has exceeded the time for its first step, or for the next.
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

// sees checks now and then whether PyTorch runs without the probe, and reports whether to give up: such a
// run would train to its end without a recording.
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
