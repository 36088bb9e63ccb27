// SPDX-License-Identifier: Apache-2.0

// Package record records training runs: it puts sizes into the user's command, runs
// it for a few steps with the probe loaded, and keeps what the probe reported. A command
// builds a Plan from its flags, calls one of these, and prints the result:
//
//	Run                  records every size of a plan, fits a profile and keeps it
//	Open, Record, Close  the same, with other work in between
//	Open, Bind, Run, …   trials, each at settings that the last one suggested; running
//	                     out of memory is a valid result (Trial.OutOfMemory)
//	Events.Reported      the probe's figures, while a trial runs
//	WatchFailures        runs the command to its end and keeps snapshots of failed requests (failures.go)
//
// The files:
//
//	plan.go      what to record: the command, the sizes, how long
//	env.go       a session's access to the outside world; local.go is this machine
//	session.go   what is set up before the first run and cleaned up after the last
//	batch.go     a Slurm batch script as the command
//	settle.go    waits between trials until the GPU's memory is free again
//	trial.go     one run of the command at one size
//	record.go    all sizes of a plan, and the profile made from them
//
// A recording goes through six stages:
//
//	bind     sizes go into the command, its options, or copies of its files
//	           bind.go, placeholder.go, command.go, option.go, project.go, user_files.go, copy.go, shell.go
//	run      the command starts, with the input and environment it would have without snug
//	           execute.go, stdin.go
//	watch    handles steps, signals, the terminal and the timeout while it runs
//	           execute.go, events.go, interrupt.go
//	collect  reads the training process's report and decides whether it is usable
//	           trial.go, verdict.go, no_steps.go; measured.go for snug tune's trials
//	fit      the recordings become a program whose parameters are the varied sizes
//	           fit.go, facts.go, fixed.go
//	keep     memory.snug, the --keep folder, and this machine's store
//	           keep.go, places.go, remember.go, remember_trial.go
//
// Measurements are compared with estimates in reference.go and compare.go; past.go says
// how far off estimates have been on this machine before.
package record

import (
	"context"

	"snug/internal/profile"
)

// Result is the outcome of a plan.
type Result struct {
	Trials  []*Trial         // one for each size, in the plan's order
	Program *profile.Program // nil if only one size was recorded
	Profile string           // the file with the program; "" if there is none
	Kept    []string         // recordings that were copied to Plan.Keep
	Notes   []string         // what the user should know about the recordings
}

// Run records a command according to a plan. When it returns, none of the command's processes is running and no
// temporary file is left.
func Run(ctx context.Context, env Env, p Plan) (*Result, error) {
	s, err := Open(ctx, env, p)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Record(ctx)
}

// Record runs every size of the plan and uses the recordings: it fits a profile to two or more, compares them with
// the plan's reference, and stores each one.
func (s *Session) Record(ctx context.Context) (*Result, error) {
	r := &Result{}
	err := s.measure(ctx, r)
	if err == nil {
		err = s.fit(r)
	}
	if err != nil {
		return nil, s.hide(withKept(err, r.Kept))
	}
	s.compare(r)
	s.remember(r)
	return r, nil
}

// measure runs every size. If recording stacks may have broken a run, it runs all of them again without stacks.
func (s *Session) measure(ctx context.Context, r *Result) error {
	if s.binder.launch.Warning != "" {
		s.say("%s", s.binder.launch.Warning)
	}
	err := s.runAll(ctx, r)
	if err == nil || !s.plan.Stacks || !stacksMayBeToBlame(r.Trials) {
		return err
	}
	s.say("%v", err)
	s.say("recording stacks may be the cause; recording again without them")
	r.Notes = nil
	s.note(r, "with --stacks the command failed (%v); recorded without stacks", err)
	for _, t := range s.bound {
		_ = t.Discard() // if this fails, Close tries again
	}
	s.plan.Stacks = false
	if err := s.bindAll(); err != nil {
		return err
	}
	return s.runAll(ctx, r)
}

// runAll runs every size in turn, and stops at the first unusable run.
func (s *Session) runAll(ctx context.Context, r *Result) error {
	for _, text := range placements(s.bound) {
		s.say("%s", text)
	}
	r.Trials = nil
	for i, t := range s.bound {
		s.env.Events.started(t, i+1, len(s.bound))
		r.Trials = append(r.Trials, t)
		if err := s.Run(ctx, t); err != nil {
			return err
		}
		if err := t.Err(); err != nil {
			return err
		}
		r.Notes = append(r.Notes, t.Notes...)
		s.env.Events.ended(t)
		if err := s.keepRecording(r, t); err != nil {
			return err
		}
	}
	return nil
}
