// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"snug/internal/config/projects"
	"snug/internal/estimate"
	"snug/internal/gpu"
	"snug/internal/plan"
	"snug/internal/profile"
	"snug/internal/record"
	"snug/internal/run"
	"snug/internal/setup"
	"snug/internal/store"
	"snug/internal/tune"
	"snug/internal/units"
)

// tuner is the state of one tune: what is known before the first trial, and the results of the trials.
type tuner struct {
	env         Env
	o           *tuneOptions
	words       []string // the training command
	session     *record.Session
	today       *today
	base        *setup.Setup // the run as it is
	current     setup.Values // its settings, including those that its script determines
	card        gpu.Card
	climb       *tune.Climb
	limit       uint64        // bytes that PyTorch may reserve
	made        int           // recordings that were made for the prediction
	notes       []string      // what the user should know
	steps       []tune.Step   // the decisions, in order
	lines       []trialRecord // the trials of this tune, in order
	key         string
	started     int // trials of this tune and the one that it continues
	earlier     int // trials of an earlier tune that were used
	now         runningTrials
	expected    int      // unfinished trials, including running ones, if the predictions are right
	cluster     *cluster // nil if trials run here
	unpublished bool     // the report could not be stored, and the user was told
}

// newTuner reads the run, checks that its values can be set in the command, and predicts.
func newTuner(ctx context.Context, env Env, o *tuneOptions, args []string) (*tuner, error) {
	t := &tuner{env: env, o: o}
	var err error
	if t.words, err = o.tunedCommand(args); err != nil {
		return nil, err
	}
	if o.launcher == "slurm" {
		if t.cluster, err = newCluster(t); err != nil {
			return nil, err
		}
	}
	if len(args) > 0 {
		o.started = o.startedScript(t.allWords())
	}
	o.useNamedConfigs(env, t.allWords())
	o.auto = o.gpu == "" && o.gpuMemory == "" && len(env.machine(ctx).Visible()) > 0
	if err := t.open(ctx); err != nil {
		return nil, err
	}
	if err := t.predict(ctx); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *tuner) close() {
	if t.session != nil {
		t.session.Close()
	}
}

// tunedCommand returns the training command: after --, or from snug.yaml.
func (o *tuneOptions) tunedCommand(args []string) ([]string, error) {
	if len(args) > 0 {
		return args, nil
	}
	words, err := projects.Command(projectFiles{o.folder})
	if err == nil && len(words) == 0 {
		err = errors.New("tune needs your training command: snug tune -- python train.py --batch-size {batch}, or command in snug.yaml")
	}
	return words, err
}

// useNamedConfigs reads the run from the config files that the command names, if that is possible.
func (o *optimizeOptions) useNamedConfigs(env Env, words []string) {
	if len(o.paths) > 0 || o.file != "" {
		return
	}
	own := o.projectFlags
	for _, w := range words {
		name := w[strings.LastIndex(w, "=")+1:]
		if _, err := (projectFiles{o.folder}).ReadFile(name); err == nil && isConfig(name) {
			own.paths = append(own.paths, name)
		}
	}
	if len(own.paths) == 0 {
		return
	}
	if _, err := own.open(env); err == nil {
		o.paths = own.paths
	}
}

// isConfig reports whether a file is a config file by its name.
func isConfig(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".toml"}, strings.ToLower(filepath.Ext(name)))
}

// open opens the session in which trials run, and checks that the batch can be set.
func (t *tuner) open(ctx context.Context) error {
	o := t.o
	names, err := o.names()
	if err != nil {
		return err
	}
	p := record.Plan{
		Command: t.words, Configs: names, Steps: o.steps, Timeout: o.timeout, Quiet: !o.verbose,
		Measure: &record.Measure{Steady: o.steady, WorstFirst: o.worstFirst, StartTimeout: o.start, StepTimeout: o.step, EndTimeout: o.end},
	}
	t.session, err = record.Open(ctx, t.world(&p, record.Events{Say: t.env.say, Reported: t.watch}), p)
	if err != nil {
		return err
	}
	switch {
	case o.dryRun:
	case t.cluster != nil:
		err = run.CheckCommand("sbatch")
	default:
		err = startable(t.words)
	}
	if err == nil {
		err = t.checkPlaces()
	}
	if err != nil {
		t.close()
		t.session = nil
	}
	return err
}

// world returns the environment for a session, and completes its plan: trials run here, or as jobs on a cluster.
func (t *tuner) world(p *record.Plan, e record.Events) record.Env {
	out := t.env.recording(e, "", true)
	if t.cluster != nil {
		out.Runner, p.Batch, p.Shared = &t.cluster.runner, true, t.cluster.shared
	}
	return out
}

// startable returns an error for a command that does not exist, before anything else is done.
func startable(words []string) error {
	l := run.ReadLaunch(words)
	if len(l.Args) == 0 {
		return nil
	}
	return run.CheckCommand(l.Args[0])
}

// checkPlaces returns an error if the batch cannot be set in the command or its files, or if the command has
// a placeholder without a value.
func (t *tuner) checkPlaces() error {
	known := append(settingNames(), "workers")
	for _, name := range t.session.Placeholders() {
		own := record.SettingName(name)
		switch {
		case own != name:
			return fmt.Errorf("the command has {%s}; write {%s} there", name, own)
		case !slices.Contains(known, name):
			return fmt.Errorf("the command has {%s}, which is not a setting that snug knows; write its value there, or one of {batch}, {accumulation}, {checkpointing}, {precision}, {optimizer}, {workers}", name)
		}
	}
	if err := t.checkPlace("batch"); err != nil {
		return err
	}
	if t.checkPlace("accumulation") != nil && !slices.Contains(trimmed(t.o.lock), "accumulation") && t.o.accumulationMatters() {
		t.notes = append(t.notes, "neither the command nor its files set the accumulation, so the batch cannot change without changing the effective batch; write {accumulation} where it goes")
	}
	return nil
}

// checkPlace returns an error if a count cannot be set. It tries two values, since a file that already has one of
// them needs no change, even if the command does not read that file.
func (t *tuner) checkPlace(setting string) error {
	return firstOf(t.session.CheckBind(setting, 2), t.session.CheckBind(setting, 3))
}

// accumulationMatters reports whether another batch would need another accumulation.
func (o *tuneOptions) accumulationMatters() bool { return !slices.Contains(trimmed(o.lock), "batch") }

func settingNames() []string {
	var out []string
	for _, s := range setup.Settings() {
		out = append(out, s.Name)
	}
	return out
}

// writable reports whether trials can give a setting a value.
func (t *tuner) writable(setting string, value any) bool {
	return t.session.CheckBind(setting, value) == nil
}

// predict finds the candidates, and what is known about them.
func (t *tuner) predict(ctx context.Context) error {
	found, err := t.o.today(t.env)
	base, err := tunable(found, err)
	if err != nil {
		return err
	}
	var list []tune.Candidate
	if base == nil {
		list, err = t.recorded(ctx)
	} else {
		t.today, t.base = found, base
		if list, err = t.planned(ctx, base, nil); unfollowable(base, err) {
			t.notes = append(t.notes, "the run is recorded, because it cannot be simulated: "+oneLine(err.Error()))
			list, err = t.recorded(ctx)
		}
	}
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return t.nothingFits()
	}
	t.session.LimitMemory(t.base.Limit)
	if t.o.reserve != "" { // memory reserved for other processes is not available to trials
		t.session.LimitMemory(t.limit)
	}
	t.climb, err = tune.New(list, 0, tune.Options{Limit: t.limit, Margin: t.o.margin, Most: t.o.trials})
	return err
}

// tunable returns the run if its memory can be predicted, and nil if it must be recorded first. Any other
// problem is an error.
func tunable(t *today, err error) (*setup.Setup, error) {
	switch {
	case errors.Is(err, setup.ErrUnknownModel):
		return nil, nil
	case err != nil:
		return nil, err
	}
	list, rest, err := begin(t.requests, 2)
	if err != nil {
		return nil, err
	}
	t.requests = rest
	switch r := list[0]; {
	case len(list) > 1:
		return nil, errors.New("tune accepts one run; give one setup")
	case t.example, errors.Is(r.err, setup.ErrUnknownModel):
		return nil, nil
	case r.err != nil:
		return nil, errors.New(r.from.located(r.err))
	case r.setup.Model.Program == nil && !r.setup.Model.Known():
		return nil, nil
	default:
		return r.setup, nil
	}
}

// unfollowable reports whether err means that the loop of a script cannot be simulated, as opposed to a mistake in the
// command or in the settings. A recording shows what such a run takes.
func unfollowable(s *setup.Setup, err error) bool {
	if err == nil || s.Script == nil || s.Script.File == nil {
		return false
	}
	var field *setup.FieldError
	var beyond estimate.LimitError
	return errors.Is(err, setup.ErrUnknownModel) || errors.As(err, &beyond) || errors.As(err, &field) && field.Field == "loop"
}

// planned returns the candidates of a run, the recommended one first. A candidate's variant is its differences
// from the current run.
func (t *tuner) planned(ctx context.Context, s *setup.Setup, variant setup.Values) ([]tune.Candidate, error) {
	where, err := t.o.place(ctx, t.env, t.today)
	if err != nil {
		return nil, err
	}
	t.card = where.cards[0]
	r := plan.Request{
		Setup: s, Card: t.card, Target: t.o.target, Margin: t.o.margin, Reserve: where.taken, Goal: plan.Throughput,
		Lock: trimmed(t.o.lock), Allow: trimmed(t.o.allow), Library: t.today.library(s), Writable: t.writable,
	}
	if t.today.project != nil {
		for _, l := range t.today.project.Locks() {
			r.Lock = append(r.Lock, l.Setting)
		}
	}
	if t.checkPlace("accumulation") != nil && !slices.Contains(r.Lock, "accumulation") {
		r.Lock = append(r.Lock, "accumulation")
	}
	kept, err := t.o.reserved()
	if err != nil {
		return nil, err
	}
	r.Reserve += kept
	r.Measured = t.o.residual(t.env, s, t.card)
	done := t.env.working("predicting")
	found, err := plan.Candidates(ctx, r)
	done()
	if err != nil || !found.Fits {
		return nil, err
	}
	if variant == nil {
		t.current = found.Current
	}
	var out []tune.Candidate
	for _, c := range found.Candidates {
		t.limit = max(t.limit, c.Limit)
		out = append(out, t.candidate(c, variant))
	}
	return out, nil
}

// candidate converts a plan's choice to a candidate for the climb.
func (t *tuner) candidate(c plan.Candidate, variant setup.Values) tune.Candidate {
	values := c.Settings
	for _, v := range variant {
		values = values.With(v.Setting, v.Value)
	}
	changed := values.Changed(t.current).Without("batch").Without("accumulation").Without("allocator")
	predicted := c.Reserved
	if c.Fits { // if it needs more than the limit, PyTorch flushes its cache and stays below
		predicted = min(predicted, c.Limit)
	}
	return tune.Candidate{
		Settings: changed.With("batch", c.Batch).With("accumulation", c.Accumulation), Variant: changed.String(),
		Batch: c.Batch, Accumulation: c.Accumulation, World: c.World, Predicted: predicted, Expected: c.Rate,
	}
}

// nothingFits returns the answer for a run that does not fit with any settings.
func (t *tuner) nothingFits() error {
	text := fmt.Sprintf("nothing fits on %s", t.card.Name)
	if t.base != nil && t.base.Limit > 0 {
		text = "nothing fits within the limit"
	}
	return found{text + ": no setting that may change makes the run small enough; snug optimize shows what it needs; --allow and --target-effective-batch permit more changes"}
}

// recorded records the run at small batches, as it is and without checkpointing, and returns the candidates that
// the recordings predict.
func (t *tuner) recorded(ctx context.Context) ([]tune.Candidate, error) {
	if !t.o.saysBatch(t.env) {
		return nil, errors.New("no config file here contains the batch, so the effective batch to keep is unknown; give --batch and --accumulation, or --target-effective-batch")
	}
	if t.o.dryRun {
		return nil, errors.New("snug does not know this model and would have to record it first, but --dry-run runs nothing; run snug profile --vary batch=2,3 first, then give --model memory.snug")
	}
	if err := t.useRecording(ctx); err != nil {
		var failed *record.ExitError // the command itself failed
		if record.IsInterrupted(err) || errors.As(err, &failed) || t.session == nil {
			return nil, err
		}
		return t.unpredicted(ctx, err)
	}
	out, err := t.planned(ctx, t.base, nil)
	if err != nil {
		return nil, err
	}
	if t.base.Checkpointing && !slices.Contains(trimmed(t.o.lock), "checkpointing") && t.writable("checkpointing", false) {
		more, err := t.otherVariant(ctx, setup.Assign("checkpointing", false))
		if record.IsInterrupted(err) {
			return nil, err
		}
		if err != nil {
			t.notes = append(t.notes, "the run could not be recorded without checkpointing, so that is not tried: "+oneLine(err.Error()))
		}
		out = fastestFirst(append(out, more...))
	}
	return out, nil
}

// useRecording records the run as it is, and reads it again with the recording as its model.
func (t *tuner) useRecording(ctx context.Context) error {
	file, err := t.recordVariant(ctx, nil)
	if err != nil {
		return err
	}
	t.o.recorded = file
	if t.today, err = t.o.today(t.env); err != nil {
		return err
	}
	t.base, err = tunable(t.today, nil)
	if err == nil && t.base == nil {
		err = errors.New("the recording cannot be used as a model")
	}
	return err
}

// unpredicted returns candidates without predictions, the current settings first: every batch that divides the
// effective batch. The climb then relies on measurements.
func (t *tuner) unpredicted(ctx context.Context, why error) ([]tune.Candidate, error) {
	t.notes = append(t.notes, "there is no prediction, so trials start at the current batch: "+oneLine(why.Error()))
	t.o.recorded = ""
	batch, accumulation := t.o.currentBatch(t.env)
	if t.checkPlace("accumulation") != nil {
		return nil, fmt.Errorf("%w; and the command does not set the accumulation, so no other batch keeps the effective batch; write {accumulation} where it goes", why)
	}
	limit, err := t.o.askedLimit()
	if err != nil {
		return nil, err
	}
	t.today, t.base = &today{}, &setup.Setup{Batch: batch, Accumulation: accumulation, Limit: limit}
	t.current = setup.Planned(t.base)
	if project, err := t.o.opened(t.env); err == nil {
		t.today.project = project
	}
	where, err := t.o.place(ctx, t.env, t.today)
	if err != nil {
		return nil, err
	}
	t.card = where.cards[0]
	if t.limit = t.base.Limit; t.limit == 0 {
		kept, err := t.o.reserved()
		if err != nil {
			return nil, err
		}
		t.limit = t.card.Total - min(where.taken+kept, t.card.Total)
	}
	target := max(t.o.target, 0)
	if target == 0 {
		target = batch * accumulation
	}
	var out []tune.Candidate
	start := 0
	for n := 1; n <= target; n++ {
		if target%n != 0 {
			continue
		}
		if n <= batch {
			start = len(out)
		}
		out = append(out, tune.Candidate{
			Settings: setup.Assign("batch", n).With("accumulation", target/n), Batch: n, Accumulation: target / n, World: 1,
		})
	}
	return slices.Concat(out[start:start+1], out[:start], out[start+1:]), nil
}

// reserved returns the bytes given with --reserve.
func (o *tuneOptions) reserved() (uint64, error) {
	if o.reserve == "" {
		return 0, nil
	}
	size, err := units.Parse(o.reserve, units.GiB)
	if err != nil {
		return 0, fmt.Errorf("--reserve: %w", err)
	}
	return uint64(size), nil
}

// askedLimit returns the limit given by flags; 0 for none.
func (o *tuneOptions) askedLimit() (uint64, error) {
	text := o.flags.Lookup("limit").Value.String()
	if !o.flags.Changed("limit") {
		return 0, nil
	}
	size, err := units.Parse(text, units.GiB)
	if err != nil {
		return 0, fmt.Errorf("--limit: %w", err)
	}
	return uint64(size), nil
}

// currentBatch returns the batch and the accumulation of the current run.
func (o *tuneOptions) currentBatch(env Env) (batch, accumulation int) {
	batch, accumulation = 1, 1
	if project, err := o.opened(env); err == nil {
		batch, accumulation = number(project.Value("batch"), batch), number(project.Value("accumulation"), accumulation)
	}
	if n, err := o.flags.GetInt("batch"); err == nil && o.flags.Changed("batch") {
		batch = n
	}
	if n, err := o.flags.GetInt("accumulation"); err == nil && o.flags.Changed("accumulation") {
		accumulation = n
	}
	return batch, accumulation
}

// fastestFirst moves the candidate with the highest predicted speed to the front. Only the first candidate of each
// variant, the recommended one, is considered.
func fastestFirst(list []tune.Candidate) []tune.Candidate {
	best := 0
	seen := map[string]bool{}
	for i, c := range list {
		if !seen[c.Variant] && c.Expected > list[best].Expected {
			best = i
		}
		seen[c.Variant] = true
	}
	return slices.Concat(list[best:best+1], list[:best], list[best+1:])
}

// otherVariant records the run with other settings, and returns its candidates.
func (t *tuner) otherVariant(ctx context.Context, values setup.Values) ([]tune.Candidate, error) {
	file, err := t.recordVariant(ctx, values)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(t.base)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	fields["model"] = map[string]any{"profile": file}
	for _, v := range values {
		setup.Put(fields, v.Setting, v.Value)
	}
	s, err := setup.Decode(fields, t.o.source(t.env))
	if err != nil {
		return nil, err
	}
	return t.planned(ctx, s, values)
}

// recordVariant records the run at two small batches, unless that was done before, and returns the profile.
func (t *tuner) recordVariant(ctx context.Context, values setup.Values) (string, error) {
	sizes := t.smallSizes()
	file, err := t.profilePath(values, sizes)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(file); err == nil && !t.o.fresh {
		return file, nil
	}
	rest := slices.Clone(values)
	if t.writable("accumulation", 1) {
		rest = rest.With("accumulation", 1)
	}
	names, err := t.o.names()
	if err != nil {
		return "", err
	}
	p := record.Plan{
		Command: t.words, Sizes: sizes, Configs: names, Settings: rest, Steps: record.DefaultSteps, Stacks: true,
		Timeout: record.DefaultTimeout, Quiet: !t.o.verbose, Out: file,
	}
	what := "unchanged"
	if len(values) > 0 {
		what = "with " + values.String()
	}
	t.env.say(fmt.Sprintf("this run cannot be predicted yet, so it is first recorded, %s, at %v and %v", what, sizes[0], sizes[1]))
	t.session.Close() // only one session at a time may listen for signals
	r, err := record.Run(ctx, t.world(&p, record.Events{Say: t.env.say}), p)
	if again := t.open(ctx); again != nil {
		t.session = nil
		return "", again
	}
	if err != nil {
		return "", err
	}
	t.made += len(r.Trials)
	t.o.measured = r
	return file, nil
}

// smallSizes returns two small batches, no larger than about the current one if that is known.
func (t *tuner) smallSizes() []profile.Point {
	small := int64(2)
	if batch, _ := t.o.currentBatch(t.env); batch > 1 {
		small = max(small, int64(batch)/4)
	}
	return []profile.Point{{"batch": small}, {"batch": small + max(small/2, 1)}}
}

// profilePath returns the path of a variant's profile, next to the store.
func (t *tuner) profilePath(values setup.Values, sizes []profile.Point) (string, error) {
	home := store.Path(t.env.Getenv)
	if home == "" {
		return "", errors.New("there is no folder to keep recordings in; set SNUG_STORE to a file")
	}
	folder := filepath.Join(filepath.Dir(home), "tune")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("creating a folder for recordings: %w", err)
	}
	name := t.identity(values.String(), sizes[0].String(), sizes[1].String())
	return filepath.Join(folder, name+profileExt), nil
}
