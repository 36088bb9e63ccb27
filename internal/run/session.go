// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"io"
	"os"
	"slices"
	"syscall"
	"time"
)

// Session is one run of the user's command with the probe loaded.
type Session struct {
	Args           []string         // the command and its arguments
	Dir            string           // working directory
	Env            []string         // the user's environment
	Set            []string         // the part of Env written before the command
	Stdin          *os.File         // nil: the command has none
	Stdout, Stderr io.Writer        // where its output goes
	Timeout        time.Duration    // time limit for the whole run; 0: none
	StartTimeout   time.Duration    // time limit for the first step; 0: none
	StepTimeout    time.Duration    // time limit from one step to the next; 0: none
	EndTimeout     time.Duration    // time limit from the last step to the end of the command; 0: linger
	OOMTimeout     time.Duration    // time limit from the first out-of-memory error to the end of the command; 0: none
	Signals        <-chan os.Signal // signals to forward; each one ends the run
	Runner         Runner           // nil: this machine
	Reported       func([]*Report)  // called with the reports so far; may be nil
	Grace          time.Duration    // time between SIGTERM and SIGKILL; 0: the default in stop.go
	Slow           func()           // called if the command is slow to end; may be nil
	Asked          func(Asked)      // called if the command asks for the terminal; may be nil
	Resumed        func()           // called after a pause, which removes the signal's handler; may be nil
}

// Outcome is the result of a run.
type Outcome struct {
	Exit     Exit          // how the command ended
	Reports  []*Report     // one for each Python process
	Tail     []byte        // the end of its output
	Took     time.Duration // duration of the run
	Waited   time.Duration // the part spent waiting for a machine
	TimedOut bool          // whether it was stopped by Timeout, StartTimeout or StepTimeout
	Hung     Hang          // where it hung, if StartTimeout or StepTimeout stopped it
	Stopped  os.Signal     // the signal that interrupted it, or nil
	Lingered bool          // it had to be ended after its last step
	Fate     Fate          // the external cause that ended it, if any
	FateText string        // a description of Fate
	Unprobed bool          // PyTorch was seen only in processes without the probe
}

// Hang is where a run got stuck.
type Hang string

// The possible places.
const (
	NotHung      Hang = "" // no time limit between steps stopped it
	BeforeSteps  Hang = "before its first step"
	BetweenSteps Hang = "between two steps"
)

// patience returns how long a run that snug ends has before it is killed. A run that exceeded its time limit gets
// little time; others may be saving.
func (o *Outcome) patience() time.Duration {
	if o.TimedOut {
		return hurry
	}
	return grace
}

const (
	linger = 20 * time.Second // how long a run may continue after its last step
	blind  = 15 * time.Second // how long PyTorch may run without the probe before snug ends the run
	look   = 250 * time.Millisecond
)

// Run runs the command and returns when its last process is gone. If a signal has already
// arrived, the command is not started.
func (s *Session) Run(ctx context.Context, f *Folder) (*Outcome, error) {
	select {
	case sig := <-s.Signals:
		if !isPause(sig) {
			return &Outcome{Stopped: sig}, nil
		}
	default:
	}
	runner, tail := s.Runner, &tail{}
	if runner == nil {
		runner = Local{}
	}
	began := time.Now()
	p, err := runner.Start(ctx, Command{
		Args: s.Args, Dir: s.Dir, Env: f.Env(s.Env), Set: s.Set, Stdin: s.Stdin,
		Stdout: io.MultiWriter(tail, s.Stdout), Stderr: io.MultiWriter(tail, s.Stderr),
	})
	if err != nil {
		return nil, err
	}
	out := &Outcome{}
	out.Exit = s.follow(ctx, p, f, out)
	p.Sweep(out.Stopped != nil)
	if x, ok := p.(placed); ok {
		out.Fate, out.FateText = x.Fate()
	}
	out.Took, out.Tail = time.Since(began), tail.bytes()
	out.Reports, err = f.Reports()
	out.Unprobed = out.Unprobed && !slices.ContainsFunc(out.Reports, func(r *Report) bool { return r.Versions != nil })
	return out, err
}

// follow waits for the command to end, ends it if necessary, and returns its exit.
func (s *Session) follow(ctx context.Context, p Process, f *Folder, out *Outcome) Exit {
	done := make(chan Exit, 1)
	go func() { done <- p.Wait() }()
	t := s.attend(p)
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	watched := watcher{folder: f, tell: s.Reported, limits: s}
	left := s.Timeout
	for last := time.Now(); ; {
		select {
		case e := <-done:
			out.Stopped = t.typedBefore(e)
			return e
		case sig := <-s.Signals:
			if t.paused(sig) {
				last = time.Now()
				continue
			}
			out.Stopped = sig
			return s.stop(p, t, done, polite(sig), hurry)
		case sig := <-t.typed:
			if t.paused(sig) {
				last = time.Now()
				continue
			}
			out.Stopped = sig
			return s.stop(p, t, done, nil, hurry)
		case <-ctx.Done():
			out.Stopped = os.Interrupt
			return s.stop(p, t, done, os.Interrupt, hurry)
		case now := <-ticks.C:
			passed := now.Sub(last)
			last = now
			if waits(p) {
				out.Waited += passed
				continue
			}
			left -= passed
			t.look()
			switch {
			case s.Timeout > 0 && left <= 0:
				out.TimedOut = true
			case watched.over(now, passed):
				out.Lingered = true
			case watched.hangs(out):
				out.TimedOut = true
			case !watched.sees(now, out):
				continue
			}
			return s.stop(p, t, done, syscall.SIGTERM, out.patience())
		}
	}
}
