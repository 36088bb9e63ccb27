// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"snug/internal/run"
)

// Failed is the result of a run that was watched for failed GPU memory requests.
type Failed struct {
	Outcome   *run.Outcome // how the run went
	Snapshots []string     // kept files, oldest first
}

// Interrupted returns the error for a run that a signal ended, or nil.
func (f *Failed) Interrupted() error {
	if by := f.Outcome.Stopped; by != nil {
		return reworded(interrupted(by), "interrupted")
	}
	return nil
}

// Err returns an error with the exit code of a command that failed, or nil.
func (f *Failed) Err() error {
	if f.Outcome.Exit.Code == 0 {
		return nil
	}
	return exitError(f.Outcome.Exit, "the command "+f.Outcome.Exit.String())
}

// lastEntries is the number of trace entries in the snapshot of a failed request: enough to see what grows, and
// written in seconds.
const lastEntries = 200_000

// entries returns the number of trace entries to keep; 0 for the default.
func (p *Plan) entries() int {
	if p.Failures > 0 {
		return lastEntries
	}
	return 0
}

// WatchFailures runs the plan's command to its end, unchanged, and keeps snapshots of the last p.Failures failed GPU
// memory requests in the folder p.Keep.
func WatchFailures(ctx context.Context, env Env, p Plan) (*Failed, error) {
	p.Steps, p.Stacks, p.KeepRunning = math.MaxInt32, true, true
	s, err := Open(ctx, env, p)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	t, err := s.Bind(nil, nil)
	if err == nil {
		err = s.Run(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	out := &Failed{Outcome: t.Outcome}
	out.Snapshots, err = s.keepFailures(t.Outcome.Reports)
	return out, err
}

// keepFailures copies the newest snapshots of failed requests to the user's folder.
func (s *Session) keepFailures(reports []*run.Report) (kept []string, err error) {
	var all []run.Kept
	for _, r := range reports {
		all = append(all, r.Kept...)
	}
	slices.SortStableFunc(all, func(a, b run.Kept) int { return cmp.Compare(a.Time, b.Time) })
	all = all[max(0, len(all)-s.plan.Failures):]
	if len(all) == 0 {
		return nil, nil
	}
	if err := s.env.Files.MkdirAll(s.plan.Keep, 0o755); err != nil {
		return nil, fmt.Errorf("--keep %s: %w", s.plan.Keep, cause(err))
	}
	for _, k := range all {
		to := filepath.Join(s.plan.Keep, filepath.Base(k.File))
		if err := s.copyFile(k.File, to); err != nil {
			return kept, fmt.Errorf("--keep %s: %w", to, cause(err))
		}
		kept = append(kept, to)
	}
	return kept, nil
}
