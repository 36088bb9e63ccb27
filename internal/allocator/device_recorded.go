// SPDX-License-Identifier: Apache-2.0

package allocator

// Placement is where a recorded run's driver put a segment.
type Placement struct{ Addr, Bytes uint64 }

// Recorded is a Device that hands out the addresses of a recording, in its
// order, so that ties between free blocks fall as they fell in the real run.
//
// It follows the recording for as long as the sizes agree. The first segment of
// another size means that the replay has left the recorded path (other options,
// another version); from then on, and when the recording ends, Then decides.
// Then also keeps the account of memory throughout.
type Recorded struct {
	Segments []Placement // segment_alloc entries
	Ranges   []uint64    // the first address of each expandable segment
	Then     Device

	diverged bool
	alias    map[uint64]uint64 // recorded address → the address Then gave
}

// Diverged says whether a segment was asked for that the recording does not have.
func (d *Recorded) Diverged() bool { return d.diverged }

// Take is cudaMalloc at the next recorded address.
func (d *Recorded) Take(bytes uint64) (uint64, bool) {
	addr, ok := d.Then.Take(bytes)
	if !ok || len(d.Segments) == 0 {
		return addr, ok
	}
	next := d.Segments[0]
	if next.Bytes != bytes {
		d.diverged, d.Segments = true, nil
		return addr, true
	}
	d.Segments = d.Segments[1:]
	if d.alias == nil {
		d.alias = make(map[uint64]uint64)
	}
	d.alias[next.Addr] = addr
	return next.Addr, true
}

// Give is cudaFree.
func (d *Recorded) Give(addr, bytes uint64) {
	if real, ok := d.alias[addr]; ok {
		delete(d.alias, addr)
		addr = real
	}
	d.Then.Give(addr, bytes)
}

// Reserve hands out the next recorded range.
func (d *Recorded) Reserve(bytes uint64) uint64 {
	addr := d.Then.Reserve(bytes)
	if len(d.Ranges) == 0 {
		return addr
	}
	addr, d.Ranges = d.Ranges[0], d.Ranges[1:]
	return addr
}

// Map takes pages from Then.
func (d *Recorded) Map(page, n uint64) uint64 { return d.Then.Map(page, n) }

// Unmap gives pages back to Then.
func (d *Recorded) Unmap(page, n uint64) { d.Then.Unmap(page, n) }

// Info is what Then says.
func (d *Recorded) Info() (free, total uint64) { return d.Then.Info() }

// Adopt passes a restored segment on to Then, where it can take it.
func (d *Recorded) Adopt(addr, bytes uint64) { adopt(d.Then, addr, bytes) }
