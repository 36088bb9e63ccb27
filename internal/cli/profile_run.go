// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/redact"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/units"
)

// profiling is one call of `snug profile`.
type profiling struct {
	env     Env
	options profileOptions
	work    *run.Work // a private folder, gone at the end
	signals chan os.Signal
	secrets redact.Values // which neither shows nor is kept
	launch  run.Launch
	sizes   []profile.Point
	hasGPU  bool           // the command will see one
	raw     map[string]any // the setup of --setup
	base    *setup.Setup   // the run that is measured, where --setup does not say so

	runs    []*measuredRun
	program *profile.Program
	notes   []string
	inputAt *int64 // where standard input was, if it is a file
	written string // the profile's file, "" where there is none
	kept    []string
}

// measuredRun is the command at one size.
type measuredRun struct {
	at       profile.Point
	command  *placed
	folder   *run.Folder
	outcome  *run.Outcome
	rank     *run.Report // of the processes that trained, the one that took the most
	ranks    int
	compared *comparison
}

// record runs every size, and all of them once more without stacks where
// recording those may have been what broke a run.
func (p *profiling) record(ctx context.Context) error {
	if p.launch.Warning != "" {
		p.say("%s", p.launch.Warning)
	}
	err := p.measure(ctx)
	if err == nil || !p.options.stacks || !p.stacksMayHaveBroken() {
		return err
	}
	p.say("%v", err)
	p.say("recording stacks may have done that; recording again without them")
	p.options.stacks, p.notes = false, nil
	p.note("with --stacks the command failed (%v); this was recorded without", err)
	if err := p.prepare(); err != nil {
		return err
	}
	return p.measure(ctx)
}

// prepare makes a folder for each size and puts the size into the command, so
// that what cannot be done is said before anything runs.
func (p *profiling) prepare() error {
	p.runs = nil
	for _, at := range p.sizes {
		f, err := run.NewFolder(p.work.Path, run.Settings{
			Steps: p.options.steps, Stacks: p.options.stacks, KeepRunning: p.options.keepRunning, NeedsGPU: true, HasGPU: p.hasGPU,
		})
		if err != nil {
			return err
		}
		c, err := p.place(at, f.Path)
		if err != nil {
			return err
		}
		if len(c.words) == 0 {
			return fmt.Errorf("%s sets variables and starts nothing; put the command behind them", strings.Join(redact.Words(c.env), " "))
		}
		p.runs = append(p.runs, &measuredRun{at: at, command: c, folder: f})
	}
	return nil
}

// seesGPU says whether this machine has a GPU that the command is shown. A driver that
// does not answer is not waited for by whoever presses Ctrl-C.
func (p *profiling) seesGPU(ctx context.Context) bool {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT)
	defer stop()
	m := gpu.Detect(ctx, p.env.GPUs)
	m.Limit(func(name string) (string, bool) {
		for _, v := range slices.Backward(p.launch.Env) {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return p.env.lookupEnv(name)
	})
	return len(m.Visible()) > 0
}

// say tells the user what is going on, on standard error.
func (p *profiling) say(format string, args ...any) {
	fmt.Fprintf(p.env.Stderr, "snug: %s\n", p.secrets.Hide(fmt.Sprintf(format, args...)))
}

// substituted is what was put where without having been asked for by {name}.
func (p *profiling) substituted() []string {
	var out []string
	for _, r := range p.runs {
		out = append(out, r.command.where...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// measure runs every size, one after the other.
func (p *profiling) measure(ctx context.Context) error {
	for _, text := range p.substituted() {
		p.say("%s", text)
	}
	for i, r := range p.runs {
		p.say("run %d of %d%s: %s", i+1, len(p.runs), named(r.at), p.env.screen().Cut(oneRow(strings.Join(redact.Words(r.command.shown), " ")), 60))
		out, err := p.session(r).Run(ctx, r.folder)
		if err != nil {
			return err
		}
		r.take(out)
		if err := p.judge(r); err != nil {
			return err
		}
		p.say("%s", r.summary())
		if err := p.keepRecording(r); err != nil {
			return err
		}
	}
	return nil
}

// named is a size in a sentence.
func named(at profile.Point) string {
	if len(at) == 0 {
		return ""
	}
	return " at " + at.String()
}

func (p *profiling) session(r *measuredRun) *run.Session {
	s := &run.Session{
		Args: r.command.words, Stdin: p.input(), Stdout: raw(p.env.Stdout), Stderr: raw(p.env.Stderr), Timeout: p.options.timeout,
		Signals: p.signals, Runner: p.env.Runner, Slow: func() { p.say("waiting for the command to end; Ctrl-C again insists") },
		Asked: p.asked, Resumed: func() { run.Notify(p.signals) },
	}
	if p.env.Environ != nil {
		s.Env = p.env.Environ()
	}
	s.Env = append(s.Env, r.command.env...)
	if p.options.json {
		s.Stdout = raw(p.env.Stderr)
	}
	if p.options.quiet {
		s.Stdout, s.Stderr = io.Discard, io.Discard
		s.Progress = func(n int) { p.say("step %d of %d", n, p.options.steps) }
	}
	return s
}

// take finds among the processes the one that counts.
func (r *measuredRun) take(out *run.Outcome) {
	r.outcome = out
	for _, x := range out.Reports {
		if !x.Trained() {
			continue
		}
		r.ranks++
		if r.rank == nil || x.PeakReserved() > r.rank.PeakReserved() {
			r.rank = x
		}
	}
}

// summary is a run in a line.
func (r *measuredRun) summary() string {
	x := r.rank
	text := fmt.Sprintf("%s in %s", counted(len(x.Steps), "step"), roughly(r.outcome.Took))
	if r.ranks > 1 {
		text += fmt.Sprintf(" in %d processes", r.ranks)
	}
	if peak := x.PeakReserved(); peak > 0 {
		text += fmt.Sprintf(", %v reserved at the peak", units.Bytes(peak))
	}
	return text
}

// roughly is a time as people say it.
func roughly(d time.Duration) string {
	if d = d.Round(100 * time.Millisecond); d <= 100*time.Millisecond {
		return "under 0.2s"
	}
	return d.String()
}
