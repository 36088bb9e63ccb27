// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"

	"snug/internal/record"
	"snug/internal/run"
	"snug/internal/tune"
	"snug/internal/units"
)

// runningTrials records what the running trials have reported. It is safe for concurrent use.
type runningTrials struct {
	mu     sync.Mutex
	trials []*runningTrial // in the order in which they began
}

type runningTrial struct {
	trial *record.Trial
	name  string
	steps int
	peak  uint64
	first time.Time // when the first report arrived; before that, a job may be waiting
}

func (r *runningTrials) begin(t *record.Trial, c tune.Candidate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials = append(r.trials, &runningTrial{trial: t, name: c.Name()})
}

func (r *runningTrials) end(t *record.Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.trials {
		if x.trial == t {
			r.trials = append(r.trials[:i:i], r.trials[i+1:]...)
			return
		}
	}
}

// watch records what the processes of a running trial report.
func (t *tuner) watch(x *record.Trial, reports []*run.Report) {
	t.now.mu.Lock()
	defer t.now.mu.Unlock()
	for _, r := range t.now.trials {
		if r.trial == x {
			r.note(reports)
		}
	}
}

func (r *runningTrial) note(reports []*run.Report) {
	r.steps, r.peak = 0, 0 // a job that Slurm restarts begins from zero
	for _, x := range reports {
		r.steps, r.peak = max(r.steps, len(x.Steps)), max(r.peak, x.PeakReserved())
	}
	if r.first.IsZero() {
		r.first = time.Now()
	}
}

// status describes the running trials and the time left.
func (t *tuner) status() string {
	t.now.mu.Lock()
	defer t.now.mu.Unlock()
	var parts []string
	for _, r := range t.now.trials {
		parts = append(parts, r.text(t.o.steps))
	}
	text := cmp.Or(strings.Join(parts, "; "), "trial")
	if left := t.timeLeft(); left > 0 {
		text += ", " + leftText(left)
	}
	return text
}

func (r *runningTrial) text(most int) string {
	switch {
	case r.steps == 0:
		return r.name + ": starting"
	case r.peak == 0:
		return fmt.Sprintf("%s: step %d of at most %d", r.name, r.steps, most)
	}
	return fmt.Sprintf("%s: step %d of at most %d, %v reserved", r.name, r.steps, most, units.Bytes(r.peak))
}

// leftText returns the time left in words, such as "; about 2 min left", or "" if it is not known.
func (t *tuner) leftText() string {
	t.now.mu.Lock()
	defer t.now.mu.Unlock()
	if left := t.timeLeft(); left > 0 {
		return "; " + leftText(left)
	}
	return ""
}

// timeLeft returns how long the rest of the tune will take if the predictions are right and each trial takes as long as
// the mean so far. Running trials count with their remaining time. Before the first trial has ended, the result is an
// upper bound based on its steps so far. It is 0 if no trial has run.
func (t *tuner) timeLeft() time.Duration {
	mean := t.meanTime()
	if mean == 0 {
		return t.firstTrialLeft()
	}
	left := time.Duration(max(t.expected, len(t.now.trials))) * mean
	for _, r := range t.now.trials {
		if !r.first.IsZero() {
			left -= min(time.Since(r.first), mean)
		}
	}
	return left / time.Duration(max(len(t.now.trials), 1))
}

// meanTime returns the mean time of the trials so far, including those of an earlier tune.
func (t *tuner) meanTime() time.Duration {
	sum, n := 0.0, 0
	for _, x := range t.lines {
		if x.Outcome.IsEvidence() {
			sum, n = sum+x.Seconds, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return time.Duration(sum / float64(n) * float64(time.Second))
}

// firstTrialLeft returns an upper bound on the time left, based on the steps of the first trial so far.
func (t *tuner) firstTrialLeft() time.Duration {
	if len(t.now.trials) == 0 || t.now.trials[0].steps < 2 {
		return 0
	}
	r := t.now.trials[0]
	passed := time.Since(r.first)
	whole := passed * time.Duration(t.o.steps) / time.Duration(r.steps)
	return whole - passed + whole*time.Duration(max(t.expected-1, 0))
}

// leftText returns a time in words, in tens of seconds, minutes or hours.
func leftText(left time.Duration) string {
	switch {
	case left < 10*time.Second:
		return "less than 10 s left"
	case left < 100*time.Second:
		return fmt.Sprintf("about %d s left", int(left.Round(10*time.Second).Seconds()))
	case left < 100*time.Minute:
		return fmt.Sprintf("about %d min left", int(left.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("about %.1f h left", left.Hours())
}
