// SPDX-License-Identifier: Apache-2.0

package estimate

import "context"

// SafeBatch returns the run at the largest batch whose whole interval fits, or nil if not even batch 1 does. It
// searches downwards from the largest batch that fits. If like was calibrated with runs measured on this machine, its
// interval is used.
func (m *MaxAnswer) SafeBatch(like *Answer) (*Answer, error) {
	if m.Best == nil {
		return nil, nil
	}
	edge, err := m.edge(like)
	if err != nil {
		return nil, err
	}
	if !edge.MightNotFit() {
		return edge, nil
	}
	m.cores.take()
	defer m.cores.release()
	runs := ahead{cores: m.cores, guess: m.guessSafe(edge), try: func(batch int) (*Answer, error) { return m.estimateAt(batch, like) }}
	var safe *Answer
	at := downward{low: m.MaxBatch, step: 1}.after(false)
	for at.next() > 0 {
		a, err := runs.ask(at)
		if err != nil {
			return nil, err
		}
		if !a.MightNotFit() {
			safe = a
		}
		at = at.after(!a.MightNotFit())
	}
	return safe, nil
}

// edge returns the run at the largest batch, with like's interval. If lengths vary, the interval covers other
// orders of the batches, which the search for the largest batch does not simulate.
func (m *MaxAnswer) edge(like *Answer) (*Answer, error) {
	if m.Best.Setup.Lengths != nil {
		return m.estimateAt(m.MaxBatch, like)
	}
	edge := *m.Best
	calibrate(&edge, like)
	return &edge, nil
}

// guessSafe returns a function that guesses, from the run at the largest batch, whether a smaller one is sure to fit.
func (m *MaxAnswer) guessSafe(edge *Answer) func(batch int) bool {
	upper := float64(edge.Interval[1])
	less := m.trend.slope() * upper / float64(max(edge.PeakReserved, 1)) // per sample
	return func(batch int) bool {
		a := *edge
		a.Interval[1] = uint64(max(upper-less*float64(m.MaxBatch-batch), 0))
		return !a.MightNotFit()
	}
}

// estimateAt returns the run at a batch, with like's interval.
func (m *MaxAnswer) estimateAt(batch int, like *Answer) (*Answer, error) {
	ctx := context.Background()
	a, err := estimate(ctx, withBatch(m.Best.Setup, batch), m.card, maxWork)
	if err == nil && a.Setup.Lengths != nil && a.Run != nil && len(a.run.trace.Events) <= maxRemedied {
		a.Lengths = &Varying{}
		err = a.spread(ctx)
	}
	if err != nil {
		return nil, err
	}
	calibrate(a, like)
	return a, nil
}

// calibrate sets the interval of a run to that of like.
func calibrate(a, like *Answer) {
	if like != nil && like.measured != nil {
		a.Calibrate(*like.measured)
	}
}
