// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"fmt"
	"time"

	"snug/internal/gpu"
	"snug/internal/units"
)

// A trial needs the card in the same state as the trial before it. After a process has ended, the driver takes a
// moment to free its memory; a process that was left behind keeps its memory.

const (
	settleTime  = 30_000 * time.Millisecond // time for memory to be freed
	settleLook  = 250 * time.Millisecond    // interval between two queries
	settleSlack = 128 << 20                 // bytes that a display or another small process may take meanwhile
)

// Settle waits until as much GPU memory is free as at the first call. It returns at once if no GPU can be queried.
func (s *Session) Settle(ctx context.Context) error {
	if s.plan.Batch { // each job has its own GPU
		return nil
	}
	deadline := s.env.Now().Add(settleTime)
	for {
		free, err := s.freeMemory(ctx)
		if err != nil {
			return err
		}
		if s.free == nil {
			s.free = free
			return nil
		}
		ordinal, missing := lacking(s.free, free)
		if missing <= settleSlack {
			return nil
		}
		if !s.env.Now().Before(deadline) {
			return fmt.Errorf("cuda:%d has %v less free memory than before the first trial; end the process that holds it (snug gpus lists them) and run snug tune again, which continues from here",
				ordinal, units.Bytes(missing))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case by := <-s.signals:
			if !s.env.Signals.Pause(by, s.signals) {
				return interrupted(by)
			}
		case <-s.env.After(settleLook):
		}
	}
}

// freeMemory returns the free bytes of each GPU that the command sees.
func (s *Session) freeMemory(ctx context.Context) (map[int]uint64, error) {
	var m *gpu.Machine
	if err := s.unlessInterrupted(func() { m = gpu.Detect(ctx, s.env.GPUs) }); err != nil {
		return nil, err
	}
	m.Limit(s.lookupForCommand)
	out := map[int]uint64{}
	for _, p := range m.Visible() {
		out[p.Ordinal] = p.Free
	}
	return out, nil
}

// lacking returns the GPU that has lost the most free memory, and how much.
func lacking(before, now map[int]uint64) (ordinal int, missing uint64) {
	for i, free := range before {
		if left, there := now[i]; there && above(free, left) > missing {
			ordinal, missing = i, above(free, left)
		}
	}
	return ordinal, missing
}
