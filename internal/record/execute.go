// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"io"
	"slices"

	"snug/internal/run"
)

// Run runs a bound trial and collects its processes' reports. An error means that the command could not be started;
// Trial.Err describes a run that started and failed.
func (s *Session) Run(ctx context.Context, t *Trial) error {
	out, err := s.process(t).Run(ctx, t.folder)
	if err != nil {
		return s.hide(err)
	}
	t.collect(out)
	return nil
}

// process returns the run of a trial: its command, environment and callbacks.
func (s *Session) process(t *Trial) *run.Session {
	p := &run.Session{
		Args: t.command.args, Env: slices.Concat(s.env.Environ(), t.command.env), Set: t.command.env,
		Stdin: s.input(), Stdout: s.env.Stdout, Stderr: s.env.Stderr,
		Timeout: s.plan.Timeout, Signals: s.signals, Runner: s.env.Runner,
		Reported: s.env.Events.watch(t),
		Slow:     func() { s.say("waiting for the command to end; press Ctrl-C again to kill it") },
		Asked:    s.terminalAsked,
		Resumed:  func() { s.env.Signals.Notify(s.signals) },
	}
	if m := s.plan.Measure; m != nil {
		p.StartTimeout, p.StepTimeout, p.EndTimeout, p.OOMTimeout = m.StartTimeout, m.StepTimeout, m.EndTimeout, oomTimeout
	}
	if s.plan.Quiet {
		p.Stdout, p.Stderr = io.Discard, io.Discard
	}
	return p
}

// terminalAsked tells the user that the command is waiting for input, if they cannot see it.
func (s *Session) terminalAsked(a run.Asked) {
	switch {
	case a == run.NotLendable:
		s.say("the command is waiting for the terminal, but snug is in the background; bring it back with fg")
	case a == run.Lent && s.plan.Quiet:
		s.say("the command asked for the terminal and now has it; run without -q to see its prompt")
	}
}
