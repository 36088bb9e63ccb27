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

// job is a job of Slurm as a run.Process.
type job struct {
	id, cluster, folder string
	runner              *Runner
	output              io.Writer
	stop                chan struct{} // closed when nobody waits for the job any more
	stopped             sync.Once

	ran       atomic.Bool // it has been seen to run, and does not wait again
	cancelled atomic.Bool // by snug
	copied    int64
	reason    string // why it waits, as the user was told
	ends      int    // times that Slurm has ended it, as the user was told
	silent    bool   // Slurm does not answer, and the user was told
	last      Info

	mu   sync.Mutex
	fate run.Fate
	why  string
}

// outputLook is the time between two looks at what a job prints.
const outputLook = 500 * time.Millisecond

// Waits reports whether the job is not running.
func (j *job) Waits() bool { return !j.ran.Load() }

// Fate returns why the job ended if that was not its own doing, and says it.
func (j *job) Fate() (run.Fate, string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fate, j.why
}

// Wait follows the job to its end. Slurm may not answer for a while, and may start the job more than once.
func (j *job) Wait() run.Exit {
	ctx := context.Background()
	for {
		j.copied = copyOutput(j.output, filepath.Join(j.folder, outputName), j.copied)
		info, err := j.runner.queue.state(ctx, j.id)
		switch {
		case errors.Is(err, errUnknown): // it ended some time ago
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
		case <-time.After(min(outputLook, j.runner.queue.every)):
		}
	}
}

// noAnswer tells the user that Slurm does not answer; the job goes on without it.
func (j *job) noAnswer(err error) {
	if !j.silent {
		j.runner.say("Slurm does not answer (%v); job %s may still run, so snug keeps asking", err, j.id)
	}
	j.silent = true
}

// changed notes the state of a job that is not over, and tells the user what has changed.
func (j *job) changed(i Info) {
	j.silent = false
	waits := i.phase() == waiting
	if waits {
		j.queuedAgain(i)
	}
	j.ran.Store(!waits)
	if waits && i.Reason != j.reason && i.Reason != "" {
		j.runner.say("job %s waits: %s", j.id, i.Reason)
	}
	if !waits && j.last.phase() == waiting {
		j.runner.say("job %s runs on %s", j.id, i.Nodes)
	}
	j.reason, j.last = i.Reason, i
}

// queuedAgain tells the user why a job that ran is in the queue again. It may have run too briefly to be seen, but
// what Slurm wrote into its output stays.
func (j *job) queuedAgain(i Info) {
	ran := j.ran.Load()
	if i.State == "SUSPENDED" || i.State == "STOPPED" {
		if ran {
			j.runner.say("job %s is suspended; its time limits do not count meanwhile", j.id)
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
		j.runner.say("job %s was preempted on %s; Slurm has queued it again", j.id, node)
	case "NODE FAILURE":
		j.runner.say("job %s lost its node %s; Slurm has queued it again", j.id, node)
	default:
		j.runner.say("Slurm has queued job %s again", j.id)
	}
}

// ended notes why a job is over, and returns the exit of its script.
func (j *job) ended(ctx context.Context, i Info) run.Exit {
	j.runner.queue.forget(j.id)
	if more, err := j.runner.queue.detail(ctx, j.id, j.cluster); err == nil && (more.phase() == over || i.phase() != over) {
		i = more
	}
	j.copied = copyOutput(j.output, filepath.Join(j.folder, outputName), j.copied)
	if i.phase() != over { // Slurm has forgotten it, or is still ending it
		i = j.byFiles()
	}
	if !j.cancelled.Load() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.fate, j.why = fateOf(j.id, i, j.tail())
	}
	return i.Exit
}

// byFiles returns how a job ended by what it left in its folder.
func (j *job) byFiles() Info {
	text := strings.TrimSpace(readText(filepath.Join(j.folder, exitName)))
	code, err := strconv.Atoi(text)
	switch {
	case j.cancelled.Load():
		return Info{State: "CANCELLED", Exit: run.Exit{Code: 1}}
	case err != nil:
		return Info{State: gone, Exit: run.Exit{Code: 1}}
	case code == 0:
		return Info{State: "COMPLETED"}
	}
	return Info{State: "FAILED", Exit: run.Exit{Code: code}}
}

// tail returns the end of what the job has printed.
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

// Signal cancels the job, whatever the signal: Slurm sends SIGTERM to all its processes, and SIGKILL to those that
// stay.
func (j *job) Signal(os.Signal) { j.cancel() }

// End cancels the job.
func (j *job) End(s os.Signal) {
	j.cancel()
	if s == os.Kill {
		j.stopped.Do(func() { close(j.stop) })
	}
}

// Sweep does nothing more: what Slurm has cancelled, it ends.
func (j *job) Sweep(bool) { j.stopped.Do(func() { close(j.stop) }) }

func (j *job) cancel() {
	if j.cancelled.Swap(true) {
		return
	}
	ctx, done := context.WithTimeout(context.Background(), patience)
	defer done()
	if _, err := j.runner.queue.run(ctx, nil, "scancel", on(j.cluster, j.id)...); err != nil {
		j.runner.say("job %s could not be cancelled: %v; cancel it with scancel %[1]s", j.id, err)
	}
}
