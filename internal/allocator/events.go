// SPDX-License-Identifier: Apache-2.0

package allocator

// A block that other CUDA streams use is not reused until they are done: a free records an event on each of these
// streams (free.go), and later allocations check the events here.

// recordEvents queues block i on every stream that uses it.
func (a *Allocator) recordEvents(i int32) {
	for _, s := range a.pending.uses[i] {
		a.pending.queues[s] = append(a.pending.queues[s], i)
		a.pending.queued++
		a.blocks[i].waits++
	}
	delete(a.pending.uses, i)
	delete(a.pending.graphUses, i)
	a.blocks[i].flags &^= flagUsed
}

// processEvents completes the pending frees whose events are done. It is called at the start of every allocation
// outside a capture.
func (a *Allocator) processEvents() {
	a.recordDeferred(nil)
	if a.pending.done {
		a.drainQueues()
	}
}

// recordDeferred completes the frees made during a capture: all of them, or those in one private pool. Streams
// recorded during the capture need no event, because the capture has joined them by now.
func (a *Allocator) recordDeferred(only *privatePool) {
	blocks := a.pending.deferred
	a.pending.deferred = nil
	for _, i := range blocks {
		if only != nil && a.poolOf(&a.blocks[i]).owner != only {
			a.pending.deferred = append(a.pending.deferred, i)
			continue
		}
		a.pending.uses[i] = without(a.pending.uses[i], a.pending.graphUses[i])
		a.recordEvents(i)
		if a.blocks[i].waits == 0 {
			a.put(i)
		}
	}
}

func without(streams, gone []uint16) []uint16 {
	kept := streams[:0]
	for _, s := range streams {
		drop := false
		for _, g := range gone {
			drop = drop || s == g
		}
		if !drop {
			kept = append(kept, s)
		}
	}
	return kept
}

func (a *Allocator) drainQueues() {
	a.work += uint64(len(a.pending.queues))
	for s := range a.pending.queues {
		for _, i := range a.pending.queues[s] {
			a.endWait(i)
		}
		a.pending.queues[s] = a.pending.queues[s][:0]
	}
	a.pending.queued = 0
}

func (a *Allocator) endWait(i int32) {
	if a.blocks[i].waits--; a.blocks[i].waits == 0 {
		a.put(i)
	}
}

// synchronize waits for all streams and completes every pending free.
func (a *Allocator) synchronize() {
	a.stats.plain.SyncAllStreams++
	a.recordDeferred(nil)
	a.drainQueues()
	for _, i := range a.pending.held {
		if a.blocks[i].flags&flagHeld != 0 {
			a.complete(i)
		}
	}
	a.pending.held = a.pending.held[:0]
}
