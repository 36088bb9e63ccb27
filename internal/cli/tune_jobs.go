// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"snug/internal/record"
	"snug/internal/run"
	"snug/internal/slurm"
	"snug/internal/tune"
)

// On a cluster, a trial is a job, and several run at once. A job can end without a result:
//
//	preempted, or its node failed   it is run again, up to mostLost times
//	canceled externally            its candidate is skipped and reported; after mostCanceled in a row, the tune stops
//
// Jobs still in the queue when the tune ends or snug is interrupted are canceled. If snug is killed, its jobs continue,
// and the next snug follows them.

const (
	mostLost     = 3
	mostCanceled = 2
)

// flight is a trial that runs as a job.
type flight struct {
	tune.Candidate
	trial *record.Trial
	err   error
	lost  int // times that its job ended without a result

	landed bool // it has ended, and waits for the first trial
	result tune.Result
}

// flights are the running trials.
type flights struct {
	*tuner
	list     []*flight
	landed   chan *flight
	canceled int // number of canceled jobs in a row
}

// climbJobs runs trials as jobs until the climb ends.
func (t *tuner) climbJobs(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	j := &flights{tuner: t, landed: make(chan *flight)}
	defer func() {
		j.end(cancel)
		if err != nil {
			t.sayAll()
		}
	}()
	if err := j.adopt(ctx); err != nil {
		return err
	}
	for {
		if err := j.fill(ctx); err != nil {
			return err
		}
		if len(j.list) == 0 {
			step := t.climb.Next()
			t.steps = append(t.steps, step)
			t.sayStep(step)
			return t.failure()
		}
		if err := j.land(ctx, j.next()); err != nil {
			return err
		}
		if t.climb.Runs() > 0 && t.climb.Next().Next == nil {
			j.end(cancel) // the remaining jobs cannot change the result
		}
	}
}

// adopt continues with the jobs of an earlier snug.
func (j *flights) adopt(ctx context.Context) error {
	left, err := j.leftJobs()
	if err != nil {
		return err
	}
	if j.o.fresh {
		j.cancelLeft(ctx)
		return nil
	}
	for _, row := range left {
		i := slices.IndexFunc(j.climb.Candidates(), func(c tune.Candidate) bool { return c.Key() == row.Settings })
		id, _, there := slurm.JobIn(row.Folder)
		if i < 0 {
			continue // it may be a candidate from --try; those come later
		}
		if !there || !run.IsFolder(row.Folder) {
			j.dropJob(row.Folder)
			continue
		}
		c := j.climb.Candidates()[i]
		at, rest, err := j.values(c)
		if err != nil {
			return err
		}
		x, err := j.session.Adopt(at, rest, row.Folder)
		if err != nil {
			return err
		}
		j.env.say(fmt.Sprintf("job %s from an earlier snug tune is running %s; waiting for its result", id, c.Name()))
		j.start(ctx, &flight{Candidate: c, trial: x})
	}
	return nil
}

// fill starts as many trials as may run at once.
func (j *flights) fill(ctx context.Context) error {
	for len(j.list) < j.o.jobs {
		step := j.climb.Ahead(j.candidates())
		if step.Next == nil {
			break
		}
		j.steps = append(j.steps, step)
		j.expect(max(j.climb.Left(), len(j.list)+1))
		j.sayStep(step)
		if err := j.launch(ctx, &flight{Candidate: *step.Next}); err != nil {
			return err
		}
	}
	return nil
}

func (j *flights) candidates() []tune.Candidate {
	var out []tune.Candidate
	for _, f := range j.list {
		out = append(out, f.Candidate)
	}
	return out
}

// launch submits a trial.
func (j *flights) launch(ctx context.Context, f *flight) error {
	x, err := j.bind(f.Candidate)
	if err != nil {
		return err
	}
	f.trial = x
	if err := j.putJob(f.Candidate, x.Folder()); err != nil {
		j.env.say("this job cannot be stored, so snug will not find it again if killed: " + oneLine(err.Error()))
	}
	j.start(ctx, f)
	return nil
}

// start follows a trial in the background.
func (j *flights) start(ctx context.Context, f *flight) {
	j.list = append(j.list, f)
	j.started++
	j.now.begin(f.trial, f.Candidate)
	go func() {
		f.err = j.session.Run(ctx, f.trial)
		j.now.end(f.trial)
		j.landed <- f
	}()
}

// next waits for the next trial to end, and prints the runner's messages meanwhile.
func (j *flights) next() *flight {
	done := j.env.progress(j.status)
	defer func() { done() }()
	for {
		select {
		case f := <-j.landed:
			done()
			j.sayAll()
			return f
		case text := <-j.cluster.said:
			done()
			j.env.say(text)
			done = j.env.progress(j.status)
		}
	}
}

// sayAll prints the runner's messages so far.
func (t *tuner) sayAll() {
	for {
		select {
		case text := <-t.cluster.said:
			t.env.say(text)
		default:
			return
		}
	}
}

// land handles a trial that has ended.
func (j *flights) land(ctx context.Context, f *flight) error {
	if f.err != nil {
		j.remove(f)
		return f.err
	}
	r, err := j.conclude(f.Candidate, f.trial)
	f.result = r
	j.dropJob(f.trial.Folder())
	if err != nil {
		j.remove(f)
		return err
	}
	if r.Outcome == tune.Lost {
		j.remove(f)
		return j.again(ctx, f)
	}
	j.canceled, f.landed = 0, true
	j.record()
	return nil
}

// record passes the results so far to the climb. The first trial decides whether the command works at all, so the
// others wait for it.
func (j *flights) record() {
	for len(j.list) > 0 {
		i := slices.IndexFunc(j.list, func(f *flight) bool { return f.landed })
		if i < 0 || i > 0 && j.climb.Runs() == 0 {
			return
		}
		f := j.list[i]
		j.remove(f)
		j.climb.Record(f.Candidate, f.result)
		j.lines = append(j.lines, trialRecord{f.Candidate, f.result, false})
	}
}

func (j *flights) remove(f *flight) {
	j.list = slices.DeleteFunc(j.list, func(x *flight) bool { return x == f })
}

// again handles a job that ended without a result: it runs the trial again, or skips it.
func (j *flights) again(ctx context.Context, f *flight) error {
	why := f.result.Why
	if f.trial.Outcome.Fate != run.Canceled && f.lost < mostLost {
		j.env.say(fmt.Sprintf("%s: %s; running it again", f.Name(), why))
		j.started--
		return j.launch(ctx, &flight{Candidate: f.Candidate, lost: f.lost + 1})
	}
	j.env.say(fmt.Sprintf("%s: %s; skipping it", f.Name(), why))
	j.lines = append(j.lines, trialRecord{f.Candidate, f.result, false})
	j.notes = append(j.notes, fmt.Sprintf("%s was not measured, because %s; to try it, run snug tune again", f.Name(), why))
	j.climb.Skip(f.Candidate)
	j.record()
	if f.trial.Outcome.Fate == run.Canceled {
		j.canceled++
	}
	if j.canceled >= mostCanceled {
		return &record.ExitError{Code: 1, Text: fmt.Sprintf("%d jobs in a row were canceled externally, so no more are submitted; %s saved, and the same command continues from there",
			j.canceled, wereKept(j.climb.Runs()))}
	}
	return nil
}

// end cancels the trials that are still running, and waits for them to end.
func (j *flights) end(cancel context.CancelFunc) {
	cancel()
	for slices.ContainsFunc(j.list, func(f *flight) bool { return !f.landed }) {
		f := j.next()
		j.dropJob(f.trial.Folder())
		j.remove(f)
		j.started--
		if f.err != nil && !errors.Is(f.err, context.Canceled) {
			j.env.say(oneLine(f.err.Error()))
		}
	}
	j.list = nil
}
