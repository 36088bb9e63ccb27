// SPDX-License-Identifier: Apache-2.0

package allocator

// Device is the driver as the allocator sees it: a source of segments at addresses that the driver
// chooses, until memory runs out.
//
// The addresses matter: up to PyTorch 2.11, ties between free blocks of equal size go to the lower
// address.
type Device interface {
	// Take is cudaMalloc: it returns the address of the new bytes; ok is false if they do not fit.
	Take(bytes uint64) (addr uint64, ok bool)
	// Give is cudaFree: it returns memory that came from Take.
	Give(addr, bytes uint64)
	// Reserve is cuMemAddressReserve: it returns the start of a range of addresses without memory behind
	// it.
	Reserve(bytes uint64) (addr uint64)
	// Map maps memory to n pages of a reserved range, one after the other, and returns how many it mapped before
	// memory ran out.
	Map(page, n uint64) (mapped uint64)
	// Unmap releases the memory of n pages.
	Unmap(page, n uint64)
	// Info is cudaMemGetInfo: free and total bytes of the card.
	Info() (free, total uint64)
}

// Adopter is a Device that can count memory allocated before the allocator existed: the segments of a restored
// snapshot. A Device without Adopt does not count that memory.
type Adopter interface {
	// Adopt counts the bytes at addr as allocated.
	Adopt(addr, bytes uint64)
}

func adopt(d Device, addr, bytes uint64) {
	if a, ok := d.(Adopter); ok {
		a.Adopt(addr, bytes)
	}
}
