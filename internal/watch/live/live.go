// SPDX-License-Identifier: Apache-2.0

// Package live produces events for package watch on this machine: GPU samples, and what the probe reports from inside
// a run that snug started.
//
//	live.go     the loop that puts all events in order
//	sampler.go  GPUs: opens a source, continues when it fails
//	pids.go     the processes that the user named
//	command.go  a run that snug starts, with the probe
//	replay.go   a recording, at the speed of the run or another
//	follow.go   a recording that another snug is writing
package live

import (
	"context"
	"fmt"
	"math"
	"time"

	"snug/internal/gpu"
	"snug/internal/watch"
)

// Config describes what to watch.
type Config struct {
	Sources  []gpu.SampledSource // ways to sample GPUs
	Interval time.Duration       // time between samples
	GPUs     []int               // the cards to watch; empty means all
	PIDs     []int               // the processes to watch; empty means Command's, or all without a Command
	Command  *Command            // a run to start; may be nil
	Alive    func(pid int) Alive // reports whether a process exists; nil means on this machine
	Now      func() time.Time    // nil means this machine's clock
	Samples  int                 // end after this many samples; 0 means no limit
}

// session is the state of the loop.
type session struct {
	Config
	emit   func(watch.Event)
	began  time.Time
	last   float64 // the time of the latest event
	jumped bool
	taken  int
	ranks  map[int]*rank // the processes of the command that report steps, by PID
}

// Run emits events until the context ends, the command has ended, or the processes are gone. It returns an error if
// there is nothing to watch.
func Run(ctx context.Context, c Config, emit func(watch.Event)) error {
	s := &session{Config: c, emit: emit}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.Alive == nil {
		s.Alive = alive
	}
	s.began = s.Now()
	cards := &cards{sources: c.Sources, wanted: c.GPUs, note: s.note}
	defer cards.close()
	if err := cards.open(ctx); err != nil {
		if c.Command == nil {
			return err
		}
		s.note(err.Error() + "; only what the run itself reports is known")
	}
	if err := s.start(); err != nil {
		return err
	}
	steps, done, err := s.startCommand(ctx)
	if err != nil {
		return err
	}
	return s.loop(ctx, cards, steps, done)
}

// start emits the first event, with the process if one was named.
func (s *session) start() error {
	if err := s.checkPIDs(); err != nil {
		return err
	}
	if len(s.PIDs) == 0 {
		s.send(watch.Event{Kind: watch.KindStart, Own: s.Command != nil})
	}
	for _, pid := range s.PIDs {
		s.send(watch.Event{Kind: watch.KindStart, PID: pid})
	}
	return nil
}

// loop emits samples and steps in the order in which they arrive.
func (s *session) loop(ctx context.Context, cards *cards, steps <-chan watch.Event, done <-chan error) error {
	ticks := time.NewTicker(s.Interval)
	defer ticks.Stop()
	s.sample(ctx, cards)
	for {
		if s.Samples > 0 && s.taken >= s.Samples {
			return nil
		}
		select {
		case <-ctx.Done():
			s.send(watch.Event{Kind: watch.KindEnd})
			return nil
		case e := <-steps:
			s.report(e)
		case err := <-done:
			for len(steps) > 0 {
				s.report(<-steps)
			}
			s.send(watch.Event{Kind: watch.KindEnd})
			return err
		case <-ticks.C:
			s.sample(ctx, cards)
			s.checkRanks()
			if s.allGone() {
				s.note(s.endedText())
				s.send(watch.Event{Kind: watch.KindEnd})
				return nil
			}
		}
	}
}

// sample emits a sample of the cards.
func (s *session) sample(ctx context.Context, cards *cards) {
	for _, x := range cards.sample(ctx, s.Now()) {
		s.send(watch.Event{Kind: watch.KindGPU, GPU: gpuEvent(x)})
	}
	s.taken++
}

// gpuEvent converts a sample for an event.
func gpuEvent(x gpu.Sample) watch.GPU {
	g := watch.GPU{
		Index: x.Index, Slice: x.Slice, UUID: x.UUID, Name: x.Name, Used: int64(x.Used), Total: int64(x.Total), Reserved: int64(x.Reserved), Util: x.Util,
		Power: x.Power, PowerLimit: x.PowerLimit, Temperature: x.Temperature, Throttle: x.Throttle,
	}
	for _, p := range x.Processes {
		g.Procs = append(g.Procs, watch.Process{PID: p.PID, Used: int64(p.Used), Name: p.Name, Util: p.Util})
	}
	return g
}

func (s *session) note(text string) { s.send(watch.Event{Kind: watch.KindNote, Message: text}) }

// jump is the number of seconds that the clock may advance unexpectedly before this counts as a jump.
const jump = 60.0

// send emits an event with its time. Times never decrease: if the clock goes back, the time stays the same and a note
// reports it.
func (s *session) send(e watch.Event) {
	t := s.Now().Sub(s.began).Seconds()
	if t < s.last || t > s.last+jump+2*s.Interval.Seconds() && s.taken > 0 {
		s.began = s.began.Add(time.Duration((t - s.last) * float64(time.Second)))
		if !s.jumped {
			s.jumped = true
			s.emit(watch.Event{T: s.last, Kind: watch.KindNote, Message: fmt.Sprintf("the clock jumped by %.0f s; times continue from before the jump", t-s.last)})
		}
		t = s.last
	}
	s.last, e.T = t, math.Round(t*1e3)/1e3
	s.emit(e)
}
