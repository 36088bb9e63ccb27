// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"fmt"

	"snug/internal/stream"
)

func (p *player) alloc(i int, e *stream.Event) error {
	if int(e.Queue) >= len(p.streams) {
		return fmt.Errorf("alloc on queue %d of %d", e.Queue, len(p.streams))
	}
	if err := p.claim(e.ID, i); err != nil {
		return err
	}
	b, err := p.a.alloc(e.Size, p.streams[e.Queue])
	if err != nil {
		return err
	}
	if b == 0 {
		p.live[e.ID] = zeroBytes
		return nil
	}
	p.live[e.ID] = b
	p.a.blocks[b].owner = e.ID
	p.notePeaks(i)
	p.notePhase()
	return nil
}

// claim checks that a new allocation has a new ID. A trace made by hand does not record its number of IDs, but IDs
// are dense, so none can exceed the number of events seen.
func (p *player) claim(id uint32, i int) error {
	if int(id) >= len(p.live) {
		if int(id) > len(p.live)+i {
			return fmt.Errorf("alloc of ID %d, which is out of order", id)
		}
		p.live = append(p.live, make([]int32, int(id)+1-len(p.live))...)
	}
	if p.live[id] != notAlive {
		return fmt.Errorf("alloc of ID %d, which is already alive", id)
	}
	return nil
}

// block returns the block of a live allocation.
func (p *player) block(what string, id uint32) (int32, error) {
	if int(id) >= len(p.live) || p.live[id] == notAlive || p.live[id] < zeroBytes {
		return 0, fmt.Errorf("%s of allocation %d, which is not alive: never allocated, or already freed", what, id)
	}
	return p.live[id], nil
}

func (p *player) free(id uint32) error {
	b, err := p.block("free", id)
	if err != nil {
		return err
	}
	p.live[id] = notAlive
	if b != zeroBytes {
		p.a.free(b)
	}
	return nil
}

func (p *player) freeRequested(id uint32) error {
	b, err := p.block("free_requested", id)
	if err != nil {
		return err
	}
	p.live[id] = zeroBytes
	if b != zeroBytes {
		p.live[id] = awaiting(b)
		p.a.hold(b)
	}
	return nil
}

// freeCompleted completes a pending free. If a cache flush completed it earlier, which happens when a recording is
// played with tighter limits than its own, the block belongs to another allocation by now and there is nothing to do.
func (p *player) freeCompleted(id uint32) error {
	if int(id) >= len(p.live) || p.live[id] >= notAlive {
		return fmt.Errorf("free_completed of allocation %d, which has no pending free", id)
	}
	b := awaiting(p.live[id])
	zero := p.live[id] == zeroBytes
	p.live[id] = notAlive
	if zero {
		return nil
	}
	if k := &p.a.blocks[b]; k.owner == id && k.flags&flagHeld != 0 {
		p.a.complete(b)
	}
	return nil
}

func (p *player) recordStream(e *stream.Event) error {
	b, err := p.block("record_stream", e.ID)
	if err != nil {
		return err
	}
	if int(e.Queue) >= len(p.streams) {
		return fmt.Errorf("record_stream on queue %d of %d", e.Queue, len(p.streams))
	}
	if b != zeroBytes {
		p.a.recordStream(b, p.streams[e.Queue])
	}
	return nil
}
