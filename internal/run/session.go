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

// Session is one run of the user's command with the probe in front.
type Session struct {
	Args           []string
	Dir            string
	Env            []string // the user's
	Stdout, Stderr io.Writer
	Timeout        time.Duration
	Signals        <-chan os.Signal // to forward; the run ends with them
	Runner         Runner           // nil: this machine
	Progress       func(steps int)  // is told of each further step; may be nil
	Grace          time.Duration    // between asking to end and insisting; 0: ten seconds
	Slow           func()           // is called where the command takes its time to end; may be nil
}

// Outcome is how a run went.
type Outcome struct {
	Exit     Exit
	Reports  []*Report
	Tail     []byte // the last of what it printed
	Took     time.Duration
	TimedOut bool
	Stopped  os.Signal // what interrupted it, nil if nothing did
	Lingered bool      // it had to be ended after its last step
	Unprobed bool      // PyTorch was seen to run where the probe is not, and nowhere else
}

const (
	grace  = 10 * time.Second
	slow   = 2 * time.Second  // until whoever waits for the end is told so
	linger = 20 * time.Second // after the last step, before the run is ended from outside
	blind  = 15 * time.Second // of PyTorch without the probe, before a run is ended of which nothing will be seen
	look   = 250 * time.Millisecond
)

// Run runs the command and comes back when its last process is gone.
func (s *Session) Run(ctx context.Context, f *Folder) (*Outcome, error) {
	runner, tail := s.Runner, &tail{}
	if runner == nil {
		runner = Local{}
	}
	began := time.Now()
	p, err := runner.Start(ctx, Command{
		Args: s.Args, Dir: s.Dir, Env: f.Env(s.Env),
		Stdout: io.MultiWriter(tail, s.Stdout), Stderr: io.MultiWriter(tail, s.Stderr),
	})
	if err != nil {
		return nil, err
	}
	out := &Outcome{}
	out.Exit = s.follow(ctx, p, f, out)
	p.Sweep()
	out.Took, out.Tail = time.Since(began), tail.bytes()
	out.Reports, err = f.Reports()
	out.Unprobed = out.Unprobed && !slices.ContainsFunc(out.Reports, func(r *Report) bool { return r.Versions != nil })
	return out, err
}

// follow waits for the end, and brings it about where it has to.
func (s *Session) follow(ctx context.Context, p Process, f *Folder, out *Outcome) Exit {
	done := make(chan Exit, 1)
	go func() { done <- p.Wait() }()
	timeout := newAlarm(s.Timeout)
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	watched := watcher{folder: f, tell: s.Progress}
	for {
		select {
		case e := <-done:
			return e
		case sig := <-s.Signals:
			out.Stopped = sig
			return s.stop(p, done, sig)
		case <-ctx.Done():
			out.Stopped = os.Interrupt
			return s.stop(p, done, os.Interrupt)
		case <-timeout:
			out.TimedOut = true
			return s.stop(p, done, syscall.SIGTERM)
		case now := <-ticks.C:
			if watched.over(now) {
				out.Lingered = true
				return s.stop(p, done, syscall.SIGTERM)
			}
			if watched.sees(now, out) {
				return s.stop(p, done, syscall.SIGTERM)
			}
		}
	}
}

// newAlarm fires once; never for a time-out of nothing.
func newAlarm(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// stop asks the command to end and, when it does not or when the user asks
// again, makes it.
func (s *Session) stop(p Process, done <-chan Exit, sig os.Signal) Exit {
	wait := s.Grace
	if wait == 0 {
		wait = grace
	}
	if sig == syscall.SIGPIPE { // nobody reads the output: Python would not mind
		sig = syscall.SIGTERM
	}
	p.Signal(sig)
	defer time.AfterFunc(slow, s.tellSlow).Stop()
	for _, next := range []os.Signal{syscall.SIGTERM, os.Kill} {
		select {
		case e := <-done:
			return e
		case <-s.Signals:
		case <-time.After(wait):
		}
		p.Signal(next)
	}
	p.Sweep()
	return <-done
}

func (s *Session) tellSlow() {
	if s.Slow != nil {
		s.Slow()
	}
}
