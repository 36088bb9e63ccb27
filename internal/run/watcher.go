// SPDX-License-Identifier: Apache-2.0

package run

import "time"

// watcher reads the reports while the run goes on.
type watcher struct {
	folder   *Folder
	tell     func([]*Report)
	torch    bool // a process has imported PyTorch, as far as the probe saw
	finished time.Time
	blind    time.Time // since when PyTorch has been in use without the probe
	looked   time.Time
}

// over passes the reports on, and reports whether the time that a run has to end after its last step is
// over.
func (w *watcher) over(now time.Time) bool {
	reports, err := w.folder.Reports()
	if err != nil {
		return false
	}
	if w.tell != nil {
		w.tell(reports)
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
	return now.Sub(w.finished) > linger
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
