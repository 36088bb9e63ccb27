// SPDX-License-Identifier: Apache-2.0

package allocator

// A free has two halves. The program's half is immediate: the block no longer counts as allocated. The allocator's
// half waits until every other CUDA stream that used the block has passed the point of the free. Only then is the
// block inactive, merged with its neighbors and available again.

// pendingFrees are the blocks between the two halves of a free.
type pendingFrees struct {
	queues    [][]int32          // for each stream, the blocks waiting for an event on it
	queued    int                // blocks in all queues
	done      bool               // events count as done when an allocation checks them
	uses      map[int32][]uint16 // streams recorded on a block
	graphUses map[int32][]uint16 // streams recorded on a block during a capture
	deferred  []int32            // blocks freed during a capture, when events cannot be recorded
	held      []int32            // blocks whose completion is an event in the recording; may contain stale entries
	heldCount int
}

func newPendingFrees() pendingFrees {
	return pendingFrees{done: true, uses: map[int32][]uint16{}, graphUses: map[int32][]uint16{}}
}

func (p *pendingFrees) any() bool { return p.queued > 0 || len(p.deferred) > 0 }

// SetEventsDone sets whether an allocation that checks the events of pending frees finds all of them done (true, the
// default) or none. In reality, some are done, depending on timing. A flush of the cache waits for all of
// them anyway.
func (a *Allocator) SetEventsDone(done bool) { a.pending.done = done }

// RecordStream is tensor.record_stream: stream uses the block too, so its Free will wait.
func (a *Allocator) RecordStream(r Ref, stream uint64) error {
	if r == Null {
		return nil
	}
	if !a.isAllocated(r) {
		return ErrNotAllocated
	}
	a.recordStream(int32(r), a.stream(stream))
	return nil
}

func (a *Allocator) recordStream(i int32, stream uint16) {
	b := &a.blocks[i]
	if b.stream == stream {
		return
	}
	b.flags |= flagUsed
	addStream(a.pending.uses, i, stream)
	if len(a.captures) > 0 {
		addStream(a.pending.graphUses, i, stream)
	}
}

func addStream(to map[int32][]uint16, i int32, stream uint16) {
	for _, s := range to[i] {
		if s == stream {
			return
		}
	}
	to[i] = append(to[i], stream)
}

// release does the program's half of a free.
func (a *Allocator) release(i int32) {
	b := &a.blocks[i]
	b.flags &^= flagAllocated
	row := a.pools[b.pool].row
	a.stats.sub(row, allocation, 1)
	a.stats.sub(row, allocatedBytes, b.size)
	if b.size >= a.opt.MaxSplitSize {
		a.stats.oversize.sub(1)
	}
}

func (a *Allocator) free(i int32) {
	a.release(i)
	switch {
	case a.blocks[i].flags&flagUsed == 0:
		a.put(i)
	case len(a.captures) > 0:
		a.pending.deferred = append(a.pending.deferred, i)
	default:
		a.recordEvents(i)
	}
}

// hold frees block i and leaves it pending until complete is called, as in a recording.
func (a *Allocator) hold(i int32) {
	a.release(i)
	b := &a.blocks[i]
	if b.flags&flagUsed != 0 {
		b.flags &^= flagUsed // the recording takes precedence over simulated events
		delete(a.pending.uses, i)
		delete(a.pending.graphUses, i)
	}
	b.flags |= flagHeld
	b.waits++
	a.compactHeld()
	a.pending.held = append(a.pending.held, i)
	a.pending.heldCount++
}

// compactHeld drops stale entries once they outnumber the held blocks.
func (a *Allocator) compactHeld() {
	if len(a.pending.held) < 64 || len(a.pending.held) < 2*a.pending.heldCount {
		return
	}
	kept := a.pending.held[:0]
	for _, i := range a.pending.held {
		if a.blocks[i].flags&flagHeld != 0 {
			kept = append(kept, i)
		}
	}
	a.pending.held = kept
}

// complete ends the wait that hold began.
func (a *Allocator) complete(i int32) {
	a.blocks[i].flags &^= flagHeld
	a.pending.heldCount--
	a.endWait(i)
}

// put does the allocator's half of a free: it merges the block with its neighbors and adds it to the free
// set.
func (a *Allocator) put(i int32) {
	b := &a.blocks[i]
	size, requested := b.size, b.requested
	b.owner = NoID
	var count, bytes int64
	if gained := a.merge(i, b.prev); gained > 0 {
		count--
		bytes -= int64(gained)
	}
	if gained := a.merge(i, b.next); gained > 0 {
		count--
		bytes -= int64(gained)
	}
	a.insertFree(i)
	row := a.pools[b.pool].row
	if b.vrange == 0 {
		if b.split() {
			count++
			bytes += int64(b.size)
		}
		a.stats.change(row, inactiveSplit, count)
		a.stats.change(row, inactiveSplitBytes, bytes)
	}
	a.stats.sub(row, active, 1)
	a.stats.sub(row, activeBytes, size)
	a.stats.sub(row, requestedBytes, requested)
}
