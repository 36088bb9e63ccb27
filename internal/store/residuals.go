// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"strings"
	"time"
)

// Range is the range of prediction errors on this machine, as measured/predicted - 1.
type Range struct {
	Cases     int     // the number of runs
	Low, High float64 // the lowest and highest error
}

// enough is the minimum number of runs for an interval. With n runs and no other knowledge, the next one is between
// the lowest and the highest with probability (n-1)/(n+1): a half for three. The interval is also widened by the
// allocator's smallest step.
const enough = 3

// moment is how long an estimate may search for similar runs; usually it takes a millisecond.
const moment = 100 * time.Millisecond

// anotherRun is the factor between measured and predicted memory above which a row probably describes a different run
// and is skipped. It is generous: the worst estimate of a real run was off by 25 %.
const anotherRun = 4

// Alike returns the prediction errors of similar runs on this card, under this PyTorch; ok is false if there were too
// few. It skips rows that cannot be measurements of the predicted run.
func (s *Store) Alike(card, torch, family string) (r Range, ok bool, err error) {
	if family == "" || s.empty {
		return Range{}, false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), moment)
	defer cancel()
	rows, err := s.db.QueryContext(ctx, `SELECT torch, predicted, reserved FROM runs WHERE card = ? AND family = ?
		AND typeof(predicted) = 'integer' AND typeof(reserved) = 'integer' AND predicted BETWEEN 1 AND ?3 AND reserved BETWEEN 1 AND ?3`, card, family, maxBytes)
	if err != nil {
		return Range{}, false, failed(s.path, err)
	}
	defer rows.Close()
	for rows.Next() {
		var version string
		var predicted, reserved float64
		if err := rows.Scan(&version, &predicted, &reserved); err != nil {
			return Range{}, false, failed(s.path, errDamaged)
		}
		off := reserved / predicted
		if minor(version) != minor(torch) || max(off, 1/off) > anotherRun {
			continue
		}
		r.add(off - 1)
	}
	return r, r.Cases >= enough, failed(s.path, rows.Err())
}

func (r *Range) add(off float64) {
	if r.Cases == 0 {
		r.Low, r.High = off, off
	}
	r.Low, r.High = min(r.Low, off), max(r.High, off)
	r.Cases++
}

// minor returns the first two parts of a version: PyTorch's allocations do not change within one.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}
