// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snug/internal/run"
)

// job is a Slurm job as a run.Process.
type job struct {
	id, cluster, folder string
	runner              *Runner
	output              io.Writer
	stop                chan struct{} // closed when the job is no longer waited for
	stopped             sync.Once

	ran      atomic.Bool // the job has been seen running, and has not been queued again since
	canceled atomic.Bool // snug has canceled it
	copied   int64
	reason   string // why it is waiting, as last reported to the user
	ends     int    // times that Slurm has ended it, as last reported to the user
	silent   bool   // Slurm is not responding, and the user has been told
	last     Info

	mu   sync.Mutex
	fate run.Fate
	why  string
}

// outputInterval is the interval at which a job's output is checked.
const outputInterval = 500 * time.Millisecond

// Waits reports whether the job is not running.
func (j *job) Waits() bool { return !j.ran.Load() }

// Fate returns the external cause that ended the job, with a description.
func (j *job) Fate() (run.Fate, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fate, j.why
}

// Wait follows the job to its end. Slurm may stop responding for a while, and may start the job more than once.
func (j *job) Wait() run.Exit {
	ctx := context.Background()
	for {
		j.copied = copyOutput(j.output, filepath.Join(j.folder, outputName), j.copied)
		info, err := j.runner.queue.state(ctx, j.id)
		switch {
		case errors.Is(err, errUnknown): // the job ended some time ago
			return j.ended(ctx, Info{})
		case err != nil:
			j.noAnswer(err)
		case info.phase() == over:
			return j.ended(ctx, info)
		default:
			j.changed(info)
		}
		select {
		case <-j.stop:
			return j.ended(ctx, info)
		case <-time.After(min(outputInterval, j.runner.queue.every)):
		}
	}
}

// noAnswer tells the user that Slurm is not responding. The job continues meanwhile.
func (j *job) noAnswer(err error) {
	if !j.silent {
		j.runner.say("Slurm is not responding (%v); job %s may still be running, so snug keeps trying", err, j.id)
	}
	j.silent = true
}

// changed records the state of an unfinished job, and tells the user what has changed.
func (j *job) changed(i Info) {
	j.silent = false
	waits := i.phase() == waiting
	if waits {
		j.queuedAgain(i)
	}
	j.ran.Store(!waits)
	if waits && i.Reason != j.reason && i.Reason != "" {
		j.runner.say("job %s is waiting: %s", j.id, i.Reason)
	}
	if !waits && j.last.phase() == waiting {
		j.runner.say("job %s is running on %s", j.id, i.Nodes)
	}
	j.reason, j.last = i.Reason, i
}

// queuedAgain tells the user why a job is in the queue again. The job may have run too briefly to be seen, so the reason
// comes from what Slurm wrote into its output.
func (j *job) queuedAgain(i Info) {
	ran := j.ran.Load()
	if i.State == "SUSPENDED" || i.State == "STOPPED" {
		if ran {
			j.runner.say("job %s is suspended; its time limits are paused", j.id)
		}
		return
	}
	why, node, ends := endIn(j.tail())
	again := ends > j.ends
	j.ends = ends
	switch {
	case !ran && !again:
		return
	case !again:
		why = ""
	}
	switch why {
	case "PREEMPTION":
		j.runner.say("job %s was preempted on %s; Slurm requeued it", j.id, node)
	case "NODE FAILURE":
		j.runner.say("job %s was killed by a node failure on %s; Slurm requeued it", j.id, node)
	default:
		j.runner.say("Slurm requeued job %s", j.id)
	}
}

// ended records why a job ended, and returns how its script exited.
func (j *job) ended(ctx context.Context, i Info) run.Exit {
	j.runner.queue.forget(j.id)
	if more, err := j.runner.queue.detail(ctx, j.id, j.cluster); err == nil && (more.phase() == over || i.phase() != over) {
		i = more
	}
	j.copied = copyOutput(j.output, filepath.Join(j.folder, outputName), j.copied)
	if i.phase() != over { // Slurm has no record of it, or is still ending it
		i = j.byFiles()
	}
	if !j.canceled.Load() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.fate, j.why = fateOf(j.id, i, j.tail())
	}
	return i.Exit
}

// byFiles returns how a job ended, according to the files in its folder.
func (j *job) byFiles() Info {
	text := strings.TrimSpace(readText(filepath.Join(j.folder, exitName)))
	code, err := strconv.Atoi(text)
	switch {
	case j.canceled.Load():
		return Info{State: "CANCELLED", Exit: run.Exit{Code: 1}}
	case err != nil:
		return Info{State: gone, Exit: run.Exit{Code: 1}}
	case code == 0:
		return Info{State: "COMPLETED"}
	}
	return Info{State: "FAILED", Exit: run.Exit{Code: code}}
}

// tail returns the end of the job's output.
func (j *job) tail() string {
	name := filepath.Join(j.folder, outputName)
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	var b strings.Builder
	copyOutput(&b, name, max(0, info.Size()-tailSize))
	return b.String()
}

const tailSize = 64 << 10

// Signal cancels the job, whatever the signal. Slurm sends SIGTERM to all its processes, and SIGKILL to those that do
// not exit.
func (j *job) Signal(os.Signal) { j.cancel() }

// End cancels the job.
func (j *job) End(s os.Signal) {
	j.cancel()
	if s == os.Kill {
		j.stopped.Do(func() { close(j.stop) })
	}
}

// Sweep only stops waiting, because Slurm itself ends the processes of a canceled job.
func (j *job) Sweep(bool) { j.stopped.Do(func() { close(j.stop) }) }

func (j *job) cancel() {
	if j.canceled.Swap(true) {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	if _, err := j.runner.queue.run(ctx, nil, "scancel", on(j.cluster, j.id)...); err != nil {
		j.runner.say("job %s could not be canceled: %v; cancel it with scancel %[1]s", j.id, err)
	}
}
