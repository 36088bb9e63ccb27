// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"snug/internal/diagnose"
	"snug/internal/record"
)

// check returns an error for flags and arguments that contradict each other.
func (o *diagnoseOptions) check(cmd *cobra.Command, args []string) error {
	dashed := cmd.ArgsLenAtDash() >= 0
	switch {
	case o.watch && (len(args) == 0 || args[0] == ""):
		return errors.New("--watch needs your training command: snug diagnose --watch -- python train.py")
	case o.watch && cmd.ArgsLenAtDash() != 0:
		return dashMissing(cmd, append([]string{"--watch"}, args...))
	case o.watch && o.last < 1:
		return fmt.Errorf("--last is %d; it must be at least 1", o.last)
	case !o.watch && (cmd.Flags().Changed("last") || cmd.Flags().Changed("keep")):
		return errors.New("--last and --keep belong to --watch: snug diagnose --watch -- python train.py")
	case !o.watch && dashed && len(args) > 0 && !isFile(args[0]):
		return fmt.Errorf("to run a command and diagnose it, write snug diagnose --watch -- %s", strings.Join(args, " "))
	}
	return nil
}

// runDiagnoseWatch runs a training command and, if it runs out of memory, diagnoses it.
func runDiagnoseWatch(ctx context.Context, env Env, o diagnoseOptions, command []string) error {
	world := env.recording(record.Events{Say: env.say}, o.file, o.json)
	log := newLogTee()
	world.Stdout, world.Stderr = io.MultiWriter(world.Stdout, log.stream()), io.MultiWriter(world.Stderr, log.stream())
	failed, err := record.WatchFailures(ctx, world, record.Plan{Command: command, Failures: o.last, Keep: o.keep})
	read, readErr := log.end()
	switch {
	case err != nil:
		return err
	case failed.Interrupted() != nil:
		return failed.Interrupted()
	case readErr != nil:
		return readErr
	}
	for _, s := range failed.Snapshots {
		env.say("saved " + s)
	}
	if failed.Err() == nil {
		return nil // the command may have retried with less memory and succeeded
	}
	v, e, err := o.judge(env, read, failed)
	if err != nil {
		return err
	}
	if v.Code == diagnose.None {
		return failed.Err()
	}
	if err := o.compute(ctx, env, v, nil); err != nil {
		return err
	}
	if err := writePage(env, o.html, v, e.Recorded); err != nil {
		return err
	}
	return o.print(env, v)
}

// judge finds the cause from the command's output and the newest snapshot.
func (o *diagnoseOptions) judge(env Env, log *diagnose.Log, failed *record.Failed) (*diagnose.Verdict, diagnose.Evidence, error) {
	g := gathered{env: env}
	g.log.Add(log)
	if n := len(failed.Snapshots); n > 0 {
		if err := g.add(failed.Snapshots[n-1]); err != nil {
			return nil, g.log, err
		}
	}
	e := g.evidence(false)
	e.Keeper = sourceFiles{env, nil}.keeper
	return diagnose.Judge(e), e, nil
}

// logTee reads a log while a command writes it, on two streams.
type logTee struct {
	out     *io.PipeWriter
	lock    sync.Mutex
	streams []*lineWriter
	done    chan struct{}
	log     *diagnose.Log
	err     error
}

func newLogTee() *logTee {
	r, w := io.Pipe()
	t := &logTee{out: w, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		t.log, t.err = diagnose.ReadLog(r)
		_ = r.CloseWithError(t.err) // later writes must not block
	}()
	return t
}

// stream returns a writer for one of the streams. Lines of different streams do not mix.
func (t *logTee) stream() io.Writer {
	w := &lineWriter{to: t}
	t.streams = append(t.streams, w)
	return w
}

// end returns the log once all of it has been read.
func (t *logTee) end() (*diagnose.Log, error) {
	for _, w := range t.streams {
		w.flush(len(w.part))
	}
	_ = t.out.Close()
	<-t.done
	return t.log, t.err
}

// lineWriter passes on whole lines. Its Write never fails, so that a problem here does not affect the command's
// output.
type lineWriter struct {
	to   *logTee
	part []byte
}

// longestPart is how much of an unfinished line is buffered.
const longestPart = 64 << 10

// Write accepts output of the command.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.part = append(w.part, p...)
	if end := bytes.LastIndexByte(w.part, '\n') + 1; end > 0 {
		w.flush(end)
	} else if len(w.part) > longestPart {
		w.flush(len(w.part))
	}
	return len(p), nil
}

func (w *lineWriter) flush(n int) {
	w.to.lock.Lock()
	defer w.to.lock.Unlock()
	_, _ = w.to.out.Write(w.part[:n])
	w.part = append(w.part[:0], w.part[n:]...)
}
