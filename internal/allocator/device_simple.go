// SPDX-License-Identifier: Apache-2.0

package allocator

import "snug/internal/units"

// granularity is the driver's unit of allocation.
const granularity = 2 * units.MiB

// firstAddress keeps invented addresses away from zero, which is printed as "none".
const firstAddress = 1 << 32

// Simple is a Device that only counts: it has a capacity, a number of bytes used by others, and addresses that are
// never reused. Scripts use it, and so does anything that lacks a recording of where the real driver placed its
// segments.
type Simple struct {
	Total   uint64 // memory of the card
	Outside uint64 // memory used by everything except this allocator

	used uint64
	next uint64
}

// Take is cudaMalloc.
func (d *Simple) Take(bytes uint64) (uint64, bool) {
	bytes = roundUp(bytes, granularity)
	if d.Map(bytes, 1) == 0 {
		return 0, false
	}
	return d.Reserve(bytes), true
}

// Give is cudaFree.
func (d *Simple) Give(_, bytes uint64) { d.used -= roundUp(bytes, granularity) }

// Reserve returns addresses without memory.
func (d *Simple) Reserve(bytes uint64) uint64 {
	addr := firstAddress + d.next
	d.next += roundUp(bytes, granularity)
	return addr
}

// Map allocates memory for reserved addresses. All pages are counted at once.
func (d *Simple) Map(page, n uint64) uint64 {
	page = roundUp(page, granularity)
	if busy := d.used + d.Outside; busy < d.used || busy > d.Total {
		return 0
	}
	n = min(n, (d.Total-d.used-d.Outside)/page)
	d.used += n * page
	return n
}

// Unmap returns the memory of n pages.
func (d *Simple) Unmap(page, n uint64) { d.used -= n * roundUp(page, granularity) }

// Info is cudaMemGetInfo.
func (d *Simple) Info() (free, total uint64) {
	if busy := d.used + d.Outside; busy < d.Total {
		free = d.Total - busy
	}
	return free, d.Total
}

// Used returns the number of bytes that the allocator has allocated.
func (d *Simple) Used() uint64 { return d.used }

// Adopt counts the memory of a restored segment, and keeps new addresses above it.
func (d *Simple) Adopt(addr, bytes uint64) {
	bytes = roundUp(bytes, granularity)
	d.used += bytes
	if end := addr + bytes; end > firstAddress+d.next {
		d.next = roundUp(end-firstAddress, granularity)
	}
}

func roundUp(n, unit uint64) uint64 {
	if rest := n % unit; rest != 0 {
		return n - rest + unit
	}
	return n
}
