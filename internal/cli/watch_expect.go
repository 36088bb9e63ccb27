// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/pflag"

	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/redact"
	"snug/internal/setup"
	"snug/internal/store"
	"snug/internal/units"
	"snug/internal/watch"
)

// expecting is a watched run whose memory can be predicted. Only this type connects package watch with estimates and
// plans.
type expecting struct {
	env   Env
	o     *optimizeOptions
	today *today
	setup *setup.Setup
	asked bool // flags describe the run, so the user is told if it cannot be predicted
	quiet bool // the view fills the screen, and nothing else may be printed

	card   gpu.Card
	answer *estimate.Answer // nil if not predicted yet, or if that failed
	tried  bool
	plans  map[uint64]string // advice, by the run's cap
}

// expecting returns the run that flags describe or, if snug starts it, the one that the folder's files describe; nil
// if there is none.
func (o *watchOptions) expecting(env Env) (*expecting, error) {
	x := &expecting{env: env, o: &o.run, asked: o.run.describes(&o.run.projectFlags), plans: map[uint64]string{}}
	if !x.asked && len(o.command) == 0 {
		return nil, nil
	}
	if len(o.command) > 0 {
		o.run.started = o.run.startedScript(o.command)
		o.run.useNamedConfigs(env, o.command)
	}
	done := env.working("reading the run's settings")
	defer done()
	var err error
	if x.today, err = o.run.today(env); err == nil {
		x.setup, err = x.today.only()
	}
	switch {
	case err != nil && x.asked:
		return nil, err
	case errors.Is(err, errNoRun):
		return nil, nil
	case err != nil:
		env.note("the run cannot be predicted: " + oneLine(err.Error()))
		return nil, nil
	}
	return x, nil
}

// errNoRun means that neither flags nor files describe a run.
var errNoRun = errors.New("nothing describes the run: give --setup FILE, or --model with --batch and --seq")

// only returns the run; there must be exactly one.
func (t *today) only() (*setup.Setup, error) {
	if t.example {
		return nil, errNoRun
	}
	list, _, err := begin(t.requests, 2)
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, errors.New("--setup: the file contains no setup")
	case len(list) > 1:
		return nil, errors.New("--setup: watch compares one run with its prediction; give one setup")
	case list[0].err != nil:
		return nil, errors.New(list[0].from.located(list[0].err))
	}
	return list[0].setup, nil
}

// predict gives the watcher the prediction, once the card is known.
func (x *expecting) predict(ctx context.Context, w *watch.Watcher, e watch.Event) error {
	if x == nil || x.tried || e.Kind != watch.KindGPU && e.Kind != watch.KindStep {
		return nil
	}
	x.tried = true
	x.card = watchedCard(w)
	done := x.working("predicting")
	expected, err := x.expected(ctx)
	done()
	if err != nil {
		return fmt.Errorf("predicting the run: %w", err)
	}
	w.Expect(expected)
	return nil
}

// working tells the user what takes a while.
func (x *expecting) working(what string) (done func()) {
	if x.quiet {
		return func() {}
	}
	return x.env.working(what)
}

// watchedCard returns the first watched card: from the catalog if it is known there, otherwise by its size.
func watchedCard(w *watch.Watcher) gpu.Card {
	for _, c := range w.View().Cards {
		if card, err := gpu.Find(c.Name); c.Name != "" && err == nil {
			return card
		}
		if c.Total > 0 {
			return gpu.ForMemory(uint64(c.Total - c.Reserved))
		}
	}
	if total := w.Total(); total > 0 {
		return gpu.ForMemory(uint64(total))
	}
	card := gpu.Reference
	card.Total = 0
	return card
}

// expected simulates the run and returns the memory of each part.
func (x *expecting) expected(ctx context.Context) (*watch.Expected, error) {
	a, err := estimate.EstimateContext(ctx, x.setup, x.card)
	if err != nil {
		return nil, err
	}
	past := x.env.past(x.card.Name)
	past.Calibrate(a, x.card)
	past.Close()
	c, err := a.Course()
	if err != nil {
		return nil, err
	}
	x.answer = a
	s := x.setup.AsRecorded()
	out := &watch.Expected{
		Load: peak(c.Load), Eval: peak(c.Evaluation), AfterEval: peak(c.AfterEval), Even: c.Even, Batch: s.Batch * s.Rows(),
		Low: share(a.Interval[0], a.PeakReserved), High: share(a.Interval[1], a.PeakReserved), Source: a.Setup.Model.Title(), At: x.at,
	}
	if c.Even {
		out.Length = s.Seq
	}
	for _, p := range c.Steps {
		out.Steps = append(out.Steps, peak(p))
	}
	return out, nil
}

func peak(p estimate.Peaks) watch.Peak {
	return watch.Peak{Allocated: float64(p.Allocated), Reserved: float64(p.Reserved)}
}

func share(n, of uint64) float64 { return float64(n) / float64(max(of, 1)) }

// at predicts a step with a different batch.
func (x *expecting) at(shape []int) (watch.Peak, bool) {
	s := *x.setup
	if len(shape) == 0 || shape[0]%s.Rows() != 0 {
		return watch.Peak{}, false
	}
	s.Batch = shape[0] / s.Rows()
	if s.Seq > 0 && len(shape) > 1 {
		s.Seq = shape[1]
	}
	a, err := estimate.Figures(&s, x.card)
	if err != nil {
		return watch.Peak{}, false
	}
	return watch.Peak{Allocated: float64(a.PeakAllocated), Reserved: float64(a.PeakReserved)}, true
}

// simulatedStates are the states for which optimize gives advice.
var simulatedStates = []watch.State{watch.Underused, watch.NearLimit, watch.Thrashing, watch.OutOfMemory}

// advise replaces the general advice for a state with optimize's.
func (x *expecting) advise(ctx context.Context, w *watch.Watcher) {
	r := w.Now()
	if x == nil || x.answer == nil || !slices.Contains(simulatedStates, r.State) {
		return
	}
	limit := x.limit(w, r)
	text, known := x.plans[limit]
	if !known {
		text = x.plan(ctx, limit)
		x.plans[limit] = text
	}
	if text != "" {
		w.Advise(r.State, text)
	}
}

// limit returns the cap of the process that a reading describes, or of the only process; 0 if it has none.
func (x *expecting) limit(w *watch.Watcher, r watch.Reading) uint64 {
	for _, p := range w.View().Processes {
		if p.Watched && (r.PID == 0 || p.PID == r.PID) && p.Limit > 0 {
			return uint64(p.Limit)
		}
	}
	return 0
}

// plan returns optimize's advice for the run, in one sentence with the command; "" if there is none.
func (x *expecting) plan(ctx context.Context, limit uint64) string {
	s := *x.setup
	if limit > 0 && (s.Limit == 0 || limit < s.Limit) {
		s.Limit = limit
	}
	if x.card.Total == 0 && s.Limit == 0 {
		return ""
	}
	done := x.working("searching for better settings")
	defer done()
	where := places{cards: []gpu.Card{x.card}}
	found, err := x.o.plans(ctx, x.env, &s, where, x.today.library(&s), x.today.writer(), new(atomic.Int64))
	if err != nil || len(found) == 0 {
		return ""
	}
	p := found[0]
	command := x.command(s.Limit)
	if p.Recommended == nil {
		return "no permitted change of settings makes the run fit; see " + command
	}
	best := p.Recommended
	changes := best.Settings.Changed(p.Current.Settings)
	if len(changes) == 0 {
		return fmt.Sprintf("no settings are faster with %s; more samples fill the card, but require a different learning rate (%s --target-effective-batch N)", samplesText(p.Target), command)
	}
	report := planReport{Plan: p, s: x.env.screen()}
	size, part := report.takes(best)
	text := fmt.Sprintf("train with %s (%s), which takes %s (%s)", strings.ReplaceAll(changes.String(), ",", ", "), command, size, part)
	if p.Timed && fits(p.Current) && p.Current.SamplesPerSecond > 0 {
		text += fmt.Sprintf(" and is %.2f times as fast in simulation", best.SamplesPerSecond/p.Current.SamplesPerSecond)
	}
	if share(best.Estimate.DevicePeak, p.Room) < littleUsed {
		text += fmt.Sprintf("; with %s, the run cannot use more of the memory", samplesText(p.Target))
	}
	return text
}

// littleUsed is the fraction of the memory below which a plan is said to leave most of it unused.
const littleUsed = 0.5

// command returns the command that shows the whole plan: optimize with the flags that describe the run.
func (x *expecting) command(limit uint64) string {
	words := []string{"snug", "optimize"}
	x.o.flags.Visit(func(f *pflag.Flag) {
		if f.Name != "limit" && x.o.describesRun(f.Name) {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	switch {
	case x.card.Total == 0:
	case x.card.Unnamed:
		words = append(words, fmt.Sprintf("--gpu-memory=%.2fGiB", float64(x.card.Total)/units.GiB))
	default:
		words = append(words, "--gpu="+x.card.Name)
	}
	if limit > 0 {
		words = append(words, fmt.Sprintf("--limit=%.2fGiB", float64(limit)/units.GiB))
	}
	return commandLine(words)
}

// commandLine quotes words for a shell.
func commandLine(words []string) string {
	var out []string
	for _, w := range words {
		if strings.ContainsAny(w, " \t\"'$&|;<>()*?[]{}#\\") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// describesRun reports whether a flag is one of those that describe a run.
func (o *optimizeOptions) describesRun(name string) bool {
	if slices.Contains([]string{"setup", "model", "config", "dir", "config-path"}, name) {
		return true
	}
	for _, flag := range settingFlags() {
		if flag.Name == name {
			return true
		}
	}
	return false
}

// leastMeasured is the number of steps a run needs to count as measured; memory has settled by then.
const leastMeasured = 5

// anotherRun is the relative error above which a prediction is probably for a different run. The worst error of real runs
// was a quarter.
const anotherRun = 0.3

// keep saves the measurement and the prediction in the store, as snug profile does: snug history shows them, and later
// estimates take their interval from them. It returns a message for the user, or "".
func (x *expecting) keep(w *watch.Watcher, torch string, words []string) string {
	if x == nil || x.answer == nil {
		return ""
	}
	most, steps, seconds, why := w.Measured()
	predicted := x.answer.Setup.Simulated().Torch
	if off := most.Reserved/float64(max(x.answer.PeakReserved, 1)) - 1; why == "" && max(off, -off) > anotherRun {
		why = fmt.Sprintf("%v was reserved instead of %v", units.Bytes(most.Reserved), units.Bytes(x.answer.PeakReserved))
	}
	switch {
	case steps < leastMeasured:
		return ""
	case why != "":
		return "the run was not saved in snug history, because it is not the one that was predicted: " + why
	case torch != "" && predicted != "" && minorVersion(torch) != minorVersion(predicted):
		return fmt.Sprintf("the run was not saved in snug history: it uses PyTorch %s, and %s was predicted; give --torch %s", torch, predicted, minorVersion(torch))
	}
	row := store.Run{
		Card: x.card.Name, Torch: torch, Model: x.setup.Model.Title(), Size: sizeText(x.setup), Predicted: x.answer.PeakReserved,
		Allocated: uint64(most.Allocated), Reserved: uint64(most.Reserved), StepSeconds: seconds,
	}
	if x.setup.Dist == nil { // a rank's error does not apply to a run on one GPU
		row.Family = x.setup.Model.Family()
	}
	if row.Model == "" {
		row.Model = strings.Join(redact.Words(words), " ")
	}
	if text, err := json.Marshal(x.setup); err == nil {
		row.Setup = string(text)
	}
	if err := x.store(row); err != nil {
		return "not saved in snug history: " + err.Error()
	}
	return fmt.Sprintf("saved in snug history: %v reserved, %v predicted (%s)", units.Bytes(row.Reserved), units.Bytes(row.Predicted), offBy(row.Predicted, row.Reserved))
}

func (x *expecting) store(row store.Run) error {
	s, err := store.Open(store.Path(x.env.Getenv))
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Add(row)
}

// minorVersion returns the first two parts of a version.
func minorVersion(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// sizeText returns the size of a run as snug history shows it.
func sizeText(s *setup.Setup) string {
	text := fmt.Sprintf("batch=%d", s.Batch)
	if seq := s.AsRecorded().Seq; seq > 0 {
		text += fmt.Sprintf(",seq=%d", seq)
	}
	return text
}
