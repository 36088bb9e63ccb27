// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/systems"
	"snug/internal/profile"
	"snug/internal/record"
	"snug/internal/setup"
	"snug/internal/tune"
)

// trialRecord is a trial of this tune.
type trialRecord struct {
	tune.Candidate
	tune.Result
	earlier bool // it was run by an earlier tune
}

// climbAll runs trials until no other candidate could be faster, then the trials of --try.
func (t *tuner) climbAll(ctx context.Context) error {
	if err := t.resume(); err != nil {
		return err
	}
	if err := t.climbOn(ctx); err != nil {
		return err
	}
	more, err := t.tries()
	if err != nil || len(more) == 0 {
		t.cancelLeft(ctx)
		return err
	}
	if err := t.climb.Extend(more); err != nil {
		return err
	}
	defer t.cancelLeft(ctx)
	return t.climbOn(ctx)
}

// climbOn runs trials until the climb is over.
func (t *tuner) climbOn(ctx context.Context) error {
	if t.cluster != nil {
		return t.climbJobs(ctx)
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	for {
		step := t.climb.Next()
		t.steps = append(t.steps, step)
		t.expect(t.climb.Left())
		t.sayStep(step)
		if step.Next == nil {
			return t.failure()
		}
		t.publish(nil, true)
		r, err := t.trial(ctx, *step.Next)
		if err != nil {
			return err
		}
		t.climb.Record(*step.Next, r)
		t.lines = append(t.lines, trialRecord{*step.Next, r, false})
		if err := t.settle(ctx); err != nil {
			return err
		}
	}
}

// settle waits until the GPU memory is free again.
func (t *tuner) settle(ctx context.Context) error {
	done := t.env.working("waiting until the GPU memory is free")
	defer done()
	return t.session.Settle(ctx)
}

// failure returns why the climb ended, if it was the command's fault.
func (t *tuner) failure() error {
	if err := t.climb.Err(); err != nil {
		last := t.lines[len(t.lines)-1]
		return fmt.Errorf("the command %s at %s: %s", describeOutcome(last.Outcome), last.Name(), last.Why)
	}
	return nil
}

func describeOutcome(o tune.Outcome) string {
	if o == tune.Hung {
		return "hung"
	}
	return "failed"
}

// expect records how many trials are still to run.
func (t *tuner) expect(trials int) {
	t.now.mu.Lock()
	defer t.now.mu.Unlock()
	t.expected = trials
}

// sayStep prints the decision and the reason.
func (t *tuner) sayStep(s tune.Step) {
	text := s.Verb + ": " + s.Why
	if s.Next != nil {
		text = fmt.Sprintf("trial %d of at most %d, %s (%s: %s)%s", t.started+1, t.climb.Most(), s.Next.Name(), s.Verb, s.Why, t.leftText())
	}
	t.env.say(text)
}

// trial runs one candidate and stores the result.
func (t *tuner) trial(ctx context.Context, c tune.Candidate) (tune.Result, error) {
	x, err := t.bind(c)
	if err != nil {
		return tune.Result{}, err
	}
	defer x.Discard() //nolint:errcheck // closing the session tries again
	t.started++
	t.now.begin(x, c)
	done := t.env.progress(t.status)
	err = t.session.Run(ctx, x)
	done()
	t.now.end(x)
	if err != nil {
		return tune.Result{}, err
	}
	return t.conclude(c, x)
}

// conclude returns a trial's result, after reporting it to the user and storing it.
func (t *tuner) conclude(c tune.Candidate, x *record.Trial) (tune.Result, error) {
	r := x.Result(c.Batch*c.Accumulation, max(c.World, 1))
	switch r.Outcome {
	case tune.Interrupted:
		return r, t.interrupted(x)
	case tune.Lost:
		return r, nil
	}
	if err := t.keep(c, r); err != nil {
		t.env.say("this trial cannot be stored, so snug tune would run it again after an interruption: " + oneLine(err.Error()))
	}
	t.env.say(t.resultText(c, r))
	if x.DiskIsFull() {
		return r, fmt.Errorf("the command failed at %s: %s; free some disk space and run snug tune again to continue from here", c.Name(), r.Why)
	}
	if r.Outcome == tune.Fits {
		if err := t.session.Remember(x, t.reference(c)); err != nil {
			t.notes = append(t.notes, "not saved in snug history: "+oneLine(err.Error()))
		}
	}
	return r, nil
}

// interrupted returns the error for a trial that the user interrupted.
func (t *tuner) interrupted(x *record.Trial) error {
	code := 130
	var exit *record.ExitError
	if errors.As(x.Err(), &exit) {
		code = exit.Code
	}
	return &record.ExitError{Code: code, Text: fmt.Sprintf("interrupted; %s saved; run the same command to continue", wereKept(t.climb.Runs()))}
}

func wereKept(n int) string {
	if n == 1 {
		return "1 trial is"
	}
	return fmt.Sprintf("%d trials are", n)
}

// bind puts the values of a candidate into the command: those that differ from the current run, and those
// that have a placeholder.
func (t *tuner) bind(c tune.Candidate) (*record.Trial, error) {
	at, rest, err := t.values(c)
	if err != nil {
		return nil, err
	}
	return t.session.Bind(at, rest)
}

// values returns the values that a trial must set: those that differ from the current ones, and those that the command
// has placeholders for.
func (t *tuner) values(c tune.Candidate) (profile.Point, setup.Values, error) {
	now, holes := t.current, t.session.Placeholders()
	at, rest := profile.Point{}, setup.Values{}
	for _, v := range c.Settings {
		if fmt.Sprint(now.Get(v.Setting)) == fmt.Sprint(v.Value) && !slices.Contains(holes, v.Setting) {
			continue
		}
		if v.Setting == "batch" {
			at["batch"] = int64(c.Batch)
			continue
		}
		rest = rest.With(v.Setting, v.Value)
	}
	for _, name := range holes {
		if c.Settings.Get(name) != nil {
			continue
		}
		value := now.Get(name)
		if value == nil {
			return nil, nil, fmt.Errorf("the command has {%s}, but its value is not known; write it there, or give --%s", name, strings.ReplaceAll(name, "_", "-"))
		}
		rest = rest.With(name, value)
	}
	return at, rest, nil
}

// reference returns the setup of a candidate, to compare its memory with; nil for a recorded model.
func (t *tuner) reference(c tune.Candidate) *record.Reference {
	if t.base.Model.Program != nil {
		return nil
	}
	fields := map[string]any{}
	text, err := json.Marshal(t.base)
	if err != nil || json.Unmarshal(text, &fields) != nil {
		return nil
	}
	if m, _ := fields["model"].(map[string]any); m["config"] != nil {
		delete(m, "name") // the name has already been looked up
	}
	for _, v := range c.Settings {
		value := v.Value
		if n, whole := value.(int); whole {
			value = float64(n)
		}
		setup.Put(fields, v.Setting, value)
	}
	return record.NewReference(fields, setup.Source{Open: t.env.find, Hub: hub(t.env.Getenv)})
}

// tries returns the candidates of --try: the best so far with each of the values.
func (t *tuner) tries() ([]tune.Candidate, error) {
	best := t.climb.Best()
	if best == nil {
		return nil, nil
	}
	var out []tune.Candidate
	for _, text := range t.o.try {
		name, list, ok := strings.Cut(text, "=")
		if !ok || list == "" {
			return nil, fmt.Errorf("--try %s: write a name and values, like workers=4,8", text)
		}
		for word := range strings.SplitSeq(list, ",") {
			_, value, err := systems.ParseSetting(name + "=" + word)
			if err != nil {
				return nil, fmt.Errorf("--try: %w", err)
			}
			c := best.Candidate
			c.Settings = c.Settings.With(name, value)
			c.Variant = strings.Trim(c.Variant+","+name+"="+word, ",")
			c.Expected = 0
			if err := t.session.CheckBind(name, value); err != nil {
				return nil, fmt.Errorf("--try %s: %w", text, err)
			}
			out = append(out, c)
		}
	}
	return out, nil
}
