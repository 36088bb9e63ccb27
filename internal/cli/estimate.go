// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/record"
	"snug/internal/setup"
)

type estimateOptions struct {
	setupFlags
	projectFlags
	json    bool
	short   bool
	explain bool
	top     int
}

const estimateLong = `Show how much GPU memory a training run takes, without running it.

The run is simulated op by op, and its allocations go through a model of
PyTorch's caching allocator, so fragmentation is included. The setup comes from
a file (JSON, JSON Lines or YAML), from flags, or from both; flags override the
file. Without either, snug reads the training configs in the folder, or the
script of the command after --, which is not run. The run has to fit the card
that --gpu names, or else the card of this machine; with --json, the card of
this machine is ignored.

On a terminal, the report is cut to fit the screen; --explain shows all of it,
with the tensors that are alive at the peak.`

// ofProfiles is part of the help of commands that accept a profile as the model.
const ofProfiles = `A profile (--model memory.snug) covers the recorded run, at any value of the
sizes that were varied. A setting that differs from the recording is an error; a
setting that the profile does not contain is ignored, with a note.`

// manySetups is part of the help of commands that accept a file of setups.
const manySetups = `If a file contains many setups, they are answered in order. If one of them
fails, its answer is an error, the others are still answered, and the exit code
is 1. If there is only one setup and it fails, the exit code is 2.`

const estimateExample = `  snug estimate llama-3.2-1b --batch 4 --seq 2048 --gpu RTX-4090
  snug estimate --setup run.yaml --explain
  snug estimate --config-path conf/config.yaml --batch 16
  snug estimate -- python train.py --batch-size 16
  snug estimate --setup many.jsonl --json`

func newEstimate(env Env) *cobra.Command {
	var o estimateOptions
	cmd := &cobra.Command{
		Use:     "estimate [MODEL | -- COMMAND...]",
		Short:   "Show how much GPU memory a training run takes",
		Long:    estimateLong + "\n\n" + ofProfiles + "\n\n" + manySetups,
		Example: estimateExample,
		Args:    func(cmd *cobra.Command, args []string) error { return o.runArgs(cmd, args, &o.projectFlags) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runEstimate(cmd.Context(), env, o) },
	}
	o.add(cmd)
	f := cmd.Flags()
	o.addTo(f)
	f.BoolVar(&o.json, "json", false, "print one JSON object per setup")
	f.BoolVar(&o.short, "short", false, shortUsage)
	f.BoolVar(&o.explain, "explain", false, "list the tensors alive at the peak")
	f.IntVar(&o.top, "top", 15, "`number` of tensors to list")
	return cmd
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q; see %s --help", args[0], cmd.CommandPath())
}

// runEstimate reads the setups, simulates them and prints the answers.
func runEstimate(ctx context.Context, env Env, o estimateOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	into, err := o.roomIn(ctx, env, o.json)
	if err != nil {
		return err
	}
	requests, err := o.requestsIn(env, &o.projectFlags)
	if err != nil {
		return err
	}
	past := env.past(into.name(o.gpu))
	defer past.Close()
	over, before, notes := false, "", notesOnce{}
	failed, err := answer(env, o.json, simulating, requests,
		func(s *setup.Setup) (*estimate.Answer, error) { return o.ask(s, into.card(s), past) },
		func(a *estimate.Answer) error {
			over = over || a.Fits != nil && !*a.Fits
			card := into.card(a.Setup)
			defer func() {
				notes.about(env, a.Setup, card)
				notes.say(env, o.warnings)
				notes.uncounted(env, a.Setup)
			}()
			if o.json {
				return printJSON(env.Stdout, struct {
					*estimate.Answer
					Notes []string `json:"notes,omitempty"`
				}{a, allNotes(a.Setup, card, o.warnings)})
			}
			text, err := estimateReport{a, card, into.origin(a.Setup), o}.shown(ctx, env)
			if err == nil {
				_, err = io.WriteString(env.Stdout, before+text)
			}
			if before = "\n\n"; o.short {
				before = ""
			}
			return err
		})
	if err == nil && failed == 0 && over {
		return found{}
	}
	return err
}

// check returns an error for flags that are wrong by themselves.
func (o *estimateOptions) check() error {
	switch {
	case o.top < 1:
		return fmt.Errorf("--top is %d; it must be at least 1", o.top)
	case o.short && o.explain:
		return errors.New("--short and --explain cannot be combined; give one of them")
	}
	return shortOrJSON(o.short, o.json)
}

// ask estimates one setup. Step times need a named card; if only its memory is known, there are none.
func (o *estimateOptions) ask(s *setup.Setup, card gpu.Card, past *record.Past) (*estimate.Answer, error) {
	if err := estimate.Runnable(s, card); err != nil {
		return nil, err
	}
	a, err := estimate.Estimate(s, card)
	past.Calibrate(a, card)
	if a != nil && o.gpu == "" {
		a.StepSeconds = 0
	}
	return a, err
}

// verdict returns the command's error if setups failed: the setup's own error if there is only one setup,
// otherwise a finding.
func verdict(failed, of int, last error, json bool) error {
	switch {
	case failed == 0:
		return nil
	case of > 1:
		return found{fmt.Sprintf("%d of %d setups could not be answered", failed, of)}
	case json:
		return answered{last}
	}
	return last
}

// complain prints the error of one setup in place of its answer.
func (r request) complain(env Env, json bool, err error, many bool) {
	if json {
		_ = printJSON(env.Stdout, struct {
			ID    string `json:"id"`
			Error string `json:"error"`
		}{r.id, r.from.text(err)})
		return
	}
	if !many {
		return // the command's own error reports it
	}
	fmt.Fprintf(env.Stderr, "snug: %s\n", r.from.located(err))
}

// answered is an error that was already printed as JSON.
type answered struct{ error }

func (a answered) Unwrap() error { return a.error }

func isAnswered(err error) bool {
	var a answered
	return errors.As(err, &a)
}

// estimateReport is the output of `snug estimate` for people.
type estimateReport struct {
	*estimate.Answer
	card    gpu.Card
	origin  string // the note that the card is this machine's
	options estimateOptions
}
