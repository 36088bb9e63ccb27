// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"snug/internal/watch"
	"snug/internal/watch/export"
)

type watchOptions struct {
	replay string
	speed  float64
	json   bool
	plain  bool
	once   bool
	every  int
	record string
}

const watchLong = `Watch a training run and say what its GPU memory does: whether it is steady,
follows the batches, or leaks, how many steps are left, and what to do.`

const watchExample = `  snug watch --replay run.jsonl
  snug watch --replay run.jsonl --json --every 50`

func newWatch(env Env) *cobra.Command {
	var o watchOptions
	cmd := &cobra.Command{
		Use:     "watch [-- COMMAND...]",
		Short:   "Watch a run: its state, leaks, and the steps left until memory runs out",
		Long:    watchLong,
		Example: watchExample,
		RunE:    func(cmd *cobra.Command, args []string) error { return runWatch(cmd.Context(), env, o, args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.replay, "replay", "", "show a recording: a `file` that --record wrote; - is standard input")
	f.Float64Var(&o.speed, "speed", 0, "replay at `N` times the speed of the run; 0 is at once")
	f.BoolVar(&o.json, "json", false, "print a JSON object a line when the state changes, and at the end")
	f.BoolVar(&o.plain, "plain", false, "print a line of text when the state changes, and at the end")
	f.BoolVar(&o.once, "once", false, "print one reading and end")
	f.IntVar(&o.every, "every", 0, "print a line every `N` steps as well")
	f.StringVar(&o.record, "record", "", "write a recording to this `file`")
	return cmd
}

// runWatch runs the command: it takes events, from a recording or live, and hands them to what was asked for.
func runWatch(_ context.Context, env Env, o watchOptions, _ []string) error {
	w := watch.New(watch.Options{})
	lines := &export.Lines{Out: env.Stdout, Every: o.every, Write: export.Plain}
	if o.json {
		lines.Write = export.JSON
	}
	if err := replayRecording(env, o.replay, w, []export.Sink{lines}); err != nil {
		return err
	}
	return nil
}

// replayRecording hands the events of a recording to a watcher and to the sinks.
func replayRecording(env Env, path string, w *watch.Watcher, sinks []export.Sink) error {
	f, err := env.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := watch.NewReader(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, reason(err))
	}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, reason(err))
		}
		_, changed := w.Add(e)
		for _, s := range sinks {
			if err := s.Event(e, w, changed); err != nil {
				return err
			}
		}
	}
	for _, s := range sinks {
		if err := s.Close(w); err != nil {
			return err
		}
	}
	for _, n := range r.Notes() {
		env.note(n)
	}
	return nil
}
