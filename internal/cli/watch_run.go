// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"snug/internal/files"
	"snug/internal/record"
	"snug/internal/run"
	"snug/internal/term"
	"snug/internal/watch"
	"snug/internal/watch/export"
	"snug/internal/watch/live"
	"snug/internal/watch/screen"
)

// watching is the state of one snug watch.
type watching struct {
	env       Env
	o         *watchOptions
	watcher   *watch.Watcher
	sinks     []export.Sink
	command   *live.Command // nil if none is started
	signals   chan os.Signal
	speed     func() float64 // the speed of a replay
	failed    error          // the error of a sink
	seen      map[watch.State]bool
	expects   *expecting       // nil if nothing is predicted
	deviation *watch.Deviation // the first step that differed, once reported
}

// newWatching opens the sources and sinks that the flags name.
func newWatching(env Env, o *watchOptions) (*watching, error) {
	s := &watching{
		env: env, o: o, watcher: watch.New(watch.Options{PIDs: o.pids}), signals: make(chan os.Signal, 4),
		speed: func() float64 { return 0 }, seen: map[watch.State]bool{},
	}
	if o.paced {
		s.speed = func() float64 { return o.speed }
	}
	if len(o.command) > 0 {
		s.command = &live.Command{Args: o.command, Env: env.environ(), Stdout: raw(env.Stdout), Stderr: raw(env.Stderr), Runner: env.Runner, Signals: s.signals, WandB: o.wandb}
		s.command.Stdin, _ = env.Stdin.(*os.File)
		if o.json || o.once {
			s.command.Stdout = s.command.Stderr // standard output is for the answer
		}
	}
	var err error
	if s.expects, err = o.expecting(env); err != nil {
		return nil, err
	}
	if s.expects != nil {
		s.expects.quiet = s.fullScreen()
	}
	if err := s.openSinks(); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

func (e Env) environ() []string {
	if e.Environ == nil {
		return nil
	}
	return e.Environ()
}

// openSinks opens the files and the endpoint.
func (s *watching) openSinks() error {
	o := s.o
	if o.record != "" {
		f, err := createOver(o.record, `{"t":`)
		if err != nil {
			return fmt.Errorf("--record %s: %w", o.record, reason(err))
		}
		s.sinks = append(s.sinks, &export.Record{Out: f, Name: o.record, Warn: s.warn})
	}
	if o.csv != "" {
		f, err := createOver(o.csv, "t,kind,")
		if err != nil {
			return fmt.Errorf("--csv %s: %w", o.csv, reason(err))
		}
		s.sinks = append(s.sinks, &export.CSV{Out: f, Name: o.csv, Warn: s.warn})
	}
	if o.board != "" {
		f, err := createEvents(o.board, time.Now())
		if err != nil {
			return fmt.Errorf("--tensorboard %s: %w", o.board, reason(err))
		}
		s.sinks = append(s.sinks, &export.TensorBoard{Out: f, Name: f.Name(), Start: float64(time.Now().UnixMilli()) / 1e3, Warn: s.warn})
	}
	if o.prometheus != "" {
		p := &export.Prometheus{Addr: o.prometheus}
		if err := p.Listen(); err != nil {
			return err
		}
		s.sinks = append(s.sinks, p)
		s.env.say("serving metrics at http://" + p.Address() + "/metrics")
	}
	if len(o.hooks) > 0 {
		s.sinks = append(s.sinks, &export.Hooks{List: o.hooks, Run: s.runHook, Warn: s.warn})
	}
	return nil
}

// createOver creates a file, or replaces one that starts with the given prefix. It does not replace any other
// file.
func createOver(path, begins string) (*os.File, error) {
	if old, err := files.Open(path); err == nil {
		head := make([]byte, len(begins))
		n, _ := io.ReadFull(old, head)
		old.Close()
		if n > 0 && string(head[:n]) != begins[:n] {
			return nil, errors.New("the file exists and was not written by snug, so it was not replaced; name another file")
		}
	}
	return os.Create(path)
}

// createEvents creates an event file with the name that TensorBoard looks for.
func createEvents(folder string, now time.Time) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	return os.Create(filepath.Join(folder, fmt.Sprintf("events.out.tfevents.%d.%s.%d.snug", now.Unix(), host, os.Getpid())))
}

// runHook runs a command of --on. Its output goes to standard error.
func (s *watching) runHook(ctx context.Context, args, vars []string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(s.env.environ(), vars...)
	cmd.Stdout, cmd.Stderr = raw(s.env.Stderr), raw(s.env.Stderr)
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// warn prints a problem that does not stop the watching.
func (s *watching) warn(text string) { s.env.note(text) }

// untilInterrupted returns a context that a signal cancels. A command gets the signal itself, and the watching stops when
// the command exits.
func (s *watching) untilInterrupted(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals, done := make(chan os.Signal, cap(s.signals)), make(chan struct{})
	run.Notify(signals)
	go func() {
		for {
			select {
			case sig := <-signals:
				switch {
				case s.command == nil:
					cancel()
				case sig != syscall.SIGPIPE: // nobody reads snug's output anymore; that must not end the training
					s.signals <- sig
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		close(done)
		run.Stop(signals)
		cancel()
	}
}

// take processes all events, prints lines, and returns when the source ends.
func (s *watching) take(ctx context.Context) error {
	if s.o.once {
		err := s.feed(ctx)
		if s.watcher.Now().State == "" { // there was no reading
			return err
		}
		return firstOf(err, s.printOnce())
	}
	lines := &export.Lines{Out: s.env.Stdout, Every: s.o.every, Write: export.Plain, Once: !s.o.json}
	if s.o.json {
		lines.Write = export.JSON
	} else if s.command != nil {
		lines.Out = s.env.Stderr // standard output is the command's
	}
	s.sinks = append(s.sinks, lines)
	if err := s.feed(ctx); !errors.Is(err, syscall.EPIPE) { // the reader of the lines has closed the pipe, which is no error
		return err
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// feed passes events to the watcher and the sinks, from the recording or live.
func (s *watching) feed(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	emit := func(e watch.Event) {
		if e.Kind == watch.KindStep { // the prediction must be ready before the first step
			s.predict(ctx, e, cancel)
		}
		r, changed := s.watcher.Add(e)
		s.seen[r.State] = true
		s.predict(ctx, e, cancel)
		if changed {
			s.expects.advise(ctx, s.watcher)
		}
		s.compare(e)
		if e.Kind == watch.KindNote {
			s.noteEvent(s.noteText(e))
		}
		s.show(e, changed, cancel)
	}
	var err error
	if s.o.replay != "" {
		err = s.replay(ctx, emit)
	} else {
		err = live.Run(ctx, s.config(), emit)
	}
	return firstOf(err, s.failed)
}

// show passes an event to the sinks. An output that fails ends the watching, unless a command is running, which must not end with it.
func (s *watching) show(e watch.Event, changed bool, stop func()) {
	s.sinks = slices.DeleteFunc(s.sinks, func(sink export.Sink) bool {
		err := sink.Event(e, s.watcher, changed)
		switch {
		case err == nil:
			return false
		case s.command != nil:
			s.noteEvent(fmt.Sprintf("%v; the command keeps running", err))
			return true
		case s.failed == nil:
			s.failed = err
			stop()
		}
		return false
	})
}

// predict predicts the run once its card is known. If that fails for a recording, the flags are wrong and it returns
// an error; a live run is not stopped.
func (s *watching) predict(ctx context.Context, e watch.Event, stop func()) {
	err := s.expects.predict(ctx, s.watcher, e)
	switch {
	case err != nil && s.o.replay != "":
		s.failed = firstOf(s.failed, err)
		stop()
	case err != nil:
		s.noteEvent(oneLine(err.Error()))
	}
}

// compare reports the first step that differs from the prediction.
func (s *watching) compare(e watch.Event) {
	if s.deviation == nil && e.Kind == watch.KindStep {
		if s.deviation = s.watcher.Deviation(); s.deviation != nil {
			s.noteEvent("the run differs from its prediction: " + s.deviation.Why)
		}
	}
}

// remember saves the measurement of a run that snug started, with its prediction.
func (s *watching) remember() {
	if s.command == nil || s.command.Outcome == nil {
		return
	}
	torch := ""
	for _, r := range s.command.Outcome.Reports {
		if v := r.Versions["torch"]; v != "" {
			torch = v
		}
	}
	if text := s.expects.keep(s.watcher, torch, s.o.command); text != "" {
		s.env.say(text)
	}
}

// noteText returns the text of a note. In a recording, it says when that was.
func (s *watching) noteText(e watch.Event) string {
	if s.o.replay == "" {
		return e.Message
	}
	return fmt.Sprintf("recorded at %s: %s", export.Clock(e.T), e.Message)
}

// noteEvent prints a note for the user. On the full screen the note is part of the view.
func (s *watching) noteEvent(text string) {
	if !s.fullScreen() {
		s.env.note(text)
	}
}

// --once watches for this long, enough to distinguish a steady run from one that is warming up. Unless a rate is
// given, it samples more often than usual.
const (
	onceRate    = 4
	onceSeconds = 5
	onceSamples = 20
)

// config returns what to watch on this machine.
func (s *watching) config() live.Config {
	c := live.Config{Sources: s.env.Samplers, Interval: s.o.interval(), GPUs: s.o.gpus, PIDs: s.o.pids, Command: s.command}
	if s.o.once && s.command == nil {
		c.Samples = max(onceSamples, int(onceSeconds*s.o.rate))
	}
	return c
}

func (s *watching) replay(ctx context.Context, emit func(watch.Event)) error {
	path := s.o.replay
	f, err := s.env.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := watch.NewReader(f)
	if err == nil {
		err = live.Replay(ctx, r, s.speed, emit)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, reason(err))
	}
	for _, n := range r.Notes() {
		s.env.note(n)
	}
	return nil
}

// printOnce prints the newest reading.
func (s *watching) printOnce() error {
	if s.o.json {
		return export.JSON(s.env.Stdout, s.watcher.Now())
	}
	var b strings.Builder
	b.WriteString(export.PlainLine(s.watcher.Now()) + "\n")
	for _, line := range screen.Summary(s.watcher.View(), s.env.screen()) {
		b.WriteString(line + "\n")
	}
	_, err := io.WriteString(s.env.Stdout, b.String())
	return err
}

// close closes the files and the endpoint.
func (s *watching) close() error {
	var first error
	for _, sink := range s.sinks {
		if err := sink.Close(s.watcher); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// verdict returns an error with the command's exit code, or one for a finding.
func (s *watching) verdict(err error) error {
	if err != nil {
		return nil
	}
	if s.command != nil && s.command.Outcome != nil {
		if code := s.command.Outcome.Exit.Code; code != 0 {
			return &record.ExitError{Code: code, Text: fmt.Sprintf("the command %v", s.command.Outcome.Exit)}
		}
		return nil
	}
	if s.seen[watch.OutOfMemory] || s.seen[watch.Leaking] {
		return found{}
	}
	return nil
}

// fullScreen reports whether the view fills a terminal.
func (s *watching) fullScreen() bool {
	o := s.o
	return !o.json && !o.plain && !o.once && o.every == 0 && s.env.screen().Height > 0 && s.env.Getenv("TERM") != "dumb" && term.Interactive(s.env.Stdin)
}
