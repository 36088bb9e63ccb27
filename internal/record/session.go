// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/profile"
	"snug/internal/redact"
	"snug/internal/run"
	"snug/internal/setup"
)

// Session runs one command, once or many times, one run at a time. It has a private folder, receives this process's
// signals, and knows the secrets that may be neither shown nor stored. The caller of Open must call Close.
//
//	s, err := record.Open(ctx, env, plan)
//	defer s.Close()
//	t, err := s.Bind(profile.Point{"batch": 8}, nil)
//	err = s.Run(ctx, t) // the command could not be started
//	err = t.Err()       // it ran, but the result is unusable
type Session struct {
	env     Env
	plan    Plan
	binder  binder
	secrets redact.Values
	signals chan os.Signal
	work    *run.Work
	hasGPU  bool           // the command will see a GPU
	bound   []*Trial       // the plan's sizes, ready to run
	inputAt *int64         // initial offset of standard input, if it is a file
	free    map[int]uint64 // free bytes on each GPU before the first trial; nil: not known yet
}

// Open prepares a session. A run takes minutes of GPU time, so every error that can be found early is reported here:
// it binds the plan's sizes and checks that the files can be written. It also cleans up after an earlier snug that
// was killed.
func Open(ctx context.Context, env Env, p Plan) (*Session, error) {
	env = env.withDefaults()
	s := &Session{
		env: env, plan: p, signals: make(chan os.Signal, 4), secrets: redact.ValuesOf(p.Command, env.Environ()),
		binder: binder{files: userFiles{env.Files}, launch: run.ReadLaunch(p.Command), configs: p.Configs},
	}
	if p.Batch {
		if err := s.binder.readBatch(); err != nil {
			return nil, err
		}
	}
	if err := s.checkPlan(); err != nil {
		return nil, err
	}
	env.Signals.Notify(s.signals)
	s.reportLeftovers(run.RemoveLeftovers(env.TempDir))
	var err error
	if s.work, err = run.NewWork(env.TempDir); err != nil {
		env.Signals.Stop(s.signals)
		return nil, fmt.Errorf("making a folder for the recordings: %w; set TMPDIR to use another place", err)
	}
	if err := s.prepare(ctx); err != nil {
		s.Close()
		return nil, s.hide(err)
	}
	return s, nil
}

// Close removes the private folder and its contents.
func (s *Session) Close() {
	_ = s.work.Remove()
	s.removeShared()
	s.env.Signals.Stop(s.signals) // only now, because a second Ctrl-C would leave the folder behind
}

// checkPlan returns an error for a plan that cannot run on any machine.
func (s *Session) checkPlan() error {
	p := s.plan
	switch {
	case len(p.Command) == 0:
		return errors.New("there is no command to record")
	case p.Steps < 1:
		return fmt.Errorf("cannot record %d steps; give at least 1", p.Steps)
	case len(p.Sizes) == 0:
		return nil
	}
	if p.varies() {
		if err := s.checkOutFolder(); err != nil {
			return err
		}
	}
	filled := maps.Clone(p.Sizes[0])
	for _, v := range p.Settings {
		filled[v.Setting] = 0
	}
	return checkPlaceholders(p.Command, filled)
}

// prepare does the work that precedes the first run.
func (s *Session) prepare(ctx context.Context) error {
	if l := s.binder.launch; l.Lost { // such a command would train unrecorded, or wait in a queue
		return errors.New(l.Warning)
	}
	if err := s.checkPlaces(); err != nil {
		return err
	}
	if err := s.findGPU(ctx); err != nil {
		return err
	}
	return s.bindAll()
}

// reportLeftovers tells the user what an earlier snug left behind, if it may surprise them.
func (s *Session) reportLeftovers(left run.Leftovers) {
	if left.Processes > 0 {
		s.say("an earlier snug was killed and left its training running; that training is stopped now")
	}
	if left.Spared > 0 {
		s.say("an earlier snug was killed; its training keeps running, as requested")
	}
}

// findGPU returns an error if this machine has no GPU that the command can see. Ctrl-C works even if the driver does
// not answer.
func (s *Session) findGPU(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var m *gpu.Machine
	if err := s.unlessInterrupted(func() { m = gpu.Detect(ctx, s.env.GPUs) }); err != nil {
		return err
	}
	m.Limit(s.lookupForCommand)
	s.hasGPU = len(m.Visible()) > 0
	return nil
}

// lookupForCommand returns a variable as the command sees it, and whether it is set: assignments before the command
// override the environment.
func (s *Session) lookupForCommand(name string) (string, bool) {
	for _, v := range slices.Backward(s.binder.launch.Env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value, true
		}
	}
	return s.env.LookupEnv(name)
}

// bindAll binds every size in the plan.
func (s *Session) bindAll() error {
	s.bound = nil
	for _, at := range s.plan.Sizes {
		t, err := s.Bind(at, s.plan.Settings)
		if err != nil {
			return err
		}
		s.bound = append(s.bound, t)
	}
	return nil
}

// Bind prepares a run of the command at a size, and with other values for settings in its config files, such as
// checkpointing or precision; settings may be nil. It starts nothing. It returns an error for a value that cannot be
// inserted in the command or its files.
func (s *Session) Bind(at profile.Point, settings setup.Values) (*Trial, error) {
	parent, err := s.runs()
	if err != nil {
		return nil, err
	}
	t, err := s.newTrial(parent, at, settings)
	if err != nil {
		return nil, s.hide(err)
	}
	return t, nil
}

func (s *Session) newTrial(parent string, at profile.Point, settings setup.Values) (*Trial, error) {
	f, err := run.NewFolder(parent, s.probe())
	if err != nil {
		return nil, err
	}
	c, err := s.binder.bind(values(at, settings), f.Path)
	if err != nil {
		_ = f.Remove()
		return nil, err
	}
	if len(c.args) == 0 {
		return nil, fmt.Errorf("%s sets variables but starts nothing; put the command after them", strings.Join(redact.Words(c.env), " "))
	}
	return &Trial{At: at, Stacks: s.plan.Stacks, command: c, folder: f, session: s}, nil
}

// probe returns the probe's settings.
func (s *Session) probe() run.Settings {
	p := run.Settings{
		Steps: s.plan.Steps, Stacks: s.plan.Stacks, KeepRunning: s.plan.KeepRunning, NeedsGPU: true, HasGPU: s.hasGPU, Limit: s.plan.Limit,
		Failures: s.plan.Failures, MaxEntries: s.plan.entries(),
	}
	if m := s.plan.Measure; m != nil {
		p.Measure, p.Steady, p.WorstFirst = true, m.Steady, m.WorstFirst
	}
	return p
}

// LimitMemory sets the most bytes that PyTorch may reserve on a GPU in runs bound from now on; 0 means no limit.
func (s *Session) LimitMemory(bytes uint64) { s.plan.Limit = bytes }

// CheckBind returns an error if Bind would refuse a value for the setting.
func (s *Session) CheckBind(setting string, value any) error {
	t, err := s.newTrial(s.work.Path, nil, setup.Assign(setting, value))
	if err != nil {
		return s.hide(err)
	}
	_ = t.Discard()
	return nil
}

// Placeholders returns the names of the command's placeholders, such as batch for {batch}, in order.
func (s *Session) Placeholders() []string {
	var out []string
	for _, w := range slices.Concat(s.binder.launch.Env, s.binder.launch.Args) {
		if name := placeholderIn(w); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, name := range s.binder.batchPlaceholders() {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// values merges a size and further settings.
func values(at profile.Point, settings setup.Values) setup.Values {
	var out setup.Values
	for _, name := range slices.Sorted(maps.Keys(at)) {
		out = append(out, setup.Value{Setting: name, Value: int(at[name])})
	}
	for _, v := range settings {
		out = out.With(v.Setting, v.Value)
	}
	return out
}

// say tells the user what is happening.
func (s *Session) say(format string, args ...any) {
	s.env.Events.say(s.secrets.Hide(fmt.Sprintf(format, args...)))
}

// note adds a note about the recording, shown at the end.
func (s *Session) note(r *Result, format string, args ...any) {
	r.Notes = append(r.Notes, s.secrets.Hide(fmt.Sprintf(format, args...)))
}

// hide returns the error without the command's secrets.
func (s *Session) hide(err error) error {
	if text := s.secrets.Hide(err.Error()); text != err.Error() {
		return reworded(err, text)
	}
	return err
}
