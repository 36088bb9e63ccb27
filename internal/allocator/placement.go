// SPDX-License-Identifier: Apache-2.0

package allocator

import "snug/internal/units"

// Where cudaMalloc places a segment.
//
// NVIDIA does not document it. The rules below were derived from 61 recordings of training runs
// made with cudaMalloc, 6,500 segments in all, on one H200 with driver 580, CUDA
// 13.0 and PyTorch 2.11, in five different layouts of the address space.
//
// # The rules
//
//  1. Sizes are multiples of 2 MiB. Addresses are reserved in chunks that begin
//     and end on multiples of 32 MiB, as large as the request needs.
//  2. A request goes to the newest chunk that has a large enough hole, and there
//     to the lowest such hole. Holes of two chunks are never joined.
//  3. If there is none, a new chunk is reserved. It comes from the kernel's mmap,
//     which works downwards: it returns the top of the highest gap that is large enough,
//     which is usually right below everything else.
//  4. A chunk that is no longer used at all is released immediately, and becomes
//     such a gap. A chunk in partial use keeps its freed ranges as holes.
//
// Because chunks usually go downwards, "newest first" usually looks like "lowest address first". Three recordings
// have a newer chunk above an older one, and show that the newer one is used; no single-GPU recording contradicts
// this.
//
// # Other users of the address space
//
// PyTorch shares the address space. It skips ranges that the driver or a library has reserved in between. Their sizes
// and times are recorded; the causes named here are inferred from what ran at that time:
//
//   - The context has 416 MiB, which end with the first 2 MiB that PyTorch allocates, and a chunk
//     above with 24 MiB free.
//   - The first kernel takes 2 MiB for code. The first one that spills to the stack moves local
//     memory to a new place, 506 MiB, and frees the 416 MiB except for that first segment.
//   - The first kernel that can assert (an embedding lookup) takes 10 MiB, the total size of the
//     device heap (8 MiB) and the print buffer.
//   - A cuBLAS handle takes 64 MiB, just before PyTorch gives it a workspace, which on this card is
//     32 MiB. There are two handles, because backward has its own.
//   - More code is loaded, 2 to 10 MiB at a time, when new kernels first run.
//
// A Device sees none of this, so two guesses replace it. Local memory moves with the third segment, or with the
// second if that is a small one, because parameters have been initialized by then. A segment of the workspace's size
// is assumed to be the workspace, and the memory of its handle is placed then. Code loaded later is ignored. A
// program that loads its weights without running a kernel will differ here.
//
// # How certain this is
//
// Rules 1 to 3 are practically certain for this driver. Rule 4 is based on nine recordings, and the sizes on all of
// them. With the two guesses instead of the real times, 99 in 100 pairs of segments in a single-GPU recording are in
// the right order. Replaying those 52 recordings at these addresses gives all 52 peaks of reserved and allocated
// memory to the byte; simply increasing addresses give 44 and 32. The model can still be wrong: without one of the 2
// MiB pieces of code, one recording is off by 0.6 or by 4 %, because a tie depends on it. Other cards, drivers and
// operating systems were not examined.

const (
	contextBytes  = 416 * units.MiB
	codePage      = 2 * units.MiB
	localMemory   = 506 * units.MiB
	deviceHeap    = 10 * units.MiB
	blasHandle    = 64 * units.MiB
	blasWorkspace = 32 * units.MiB
	blasHandles   = 2
)

const (
	// contextEnd is where the context's chunk ended in most recordings. The system varies it; only
	// distances matter.
	contextEnd = 0x7f5ad2000000
	// firstRange is where cuMemAddressReserve began. It works upwards, far below everything else, as one recording
	// with expandable segments shows.
	firstRange = 0x302000000
	// hostAddresses separates the addresses of cuMemAddressReserve (below) from those of cudaMalloc
	// (above).
	hostAddresses = 1 << 46
)

// Driver is a Device that places segments as NVIDIA's driver does in the recordings.
type Driver struct {
	Simple // counts the memory

	addresses
	nextRange uint64
	takes     int
	launched  bool // local memory has moved
	handles   int
}

// NewDriver returns the driver of a card with total bytes, of which outside bytes are used by everything except the
// allocator.
func NewDriver(total, outside uint64) *Driver {
	d := &Driver{Simple: Simple{Total: total, Outside: outside}, nextRange: firstRange}
	d.enter(contextEnd)
	return d
}

// enter lays out the memory of a new context at PyTorch's first request.
func (d *Driver) enter(end uint64) {
	d.floor = end - contextBytes
	d.forget()
	d.add(span{end + 64*units.MiB, end + 96*units.MiB}, end+72*units.MiB)
	d.add(span{d.floor, end}, end-granularity)
}

// Take is cudaMalloc.
func (d *Driver) Take(bytes uint64) (uint64, bool) {
	bytes = roundUp(bytes, granularity)
	if d.Map(bytes, 1) == 0 {
		return 0, false
	}
	d.takes++
	if !d.launched && (d.takes == 3 || d.takes == 2 && bytes == granularity) {
		d.launch()
	}
	if bytes == blasWorkspace && d.launched && d.handles < blasHandles {
		return d.placeWorkspace(), true
	}
	return d.place(bytes), true
}

// launch allocates the memory of the first kernels.
func (d *Driver) launch() {
	d.launched = true
	context := d.chunks[1].span
	d.place(codePage)
	d.place(localMemory)
	d.put(1, span{context.lo, context.hi - granularity})
}

// placeWorkspace places a cuBLAS workspace together with the memory of its handle.
func (d *Driver) placeWorkspace() uint64 {
	first := d.handles == 0
	d.handles++
	if first {
		d.place(deviceHeap)
		d.place(codePage)
	}
	d.place(blasHandle)
	addr := d.place(blasWorkspace)
	if first {
		d.place(codePage)
	}
	return addr
}

// Give is cudaFree.
func (d *Driver) Give(addr, bytes uint64) {
	bytes = roundUp(bytes, granularity)
	d.Unmap(bytes, 1)
	d.release(span{addr, addr + bytes})
}

// Reserve reserves addresses for an expandable segment.
func (d *Driver) Reserve(bytes uint64) uint64 {
	addr := d.nextRange
	d.nextRange += roundUp(bytes, chunkUnit)
	return addr
}

// Adopt counts a restored segment. If it is the first one and lies where the first segment of a
// process usually lies, the CUDA context is assumed to lie around it. Otherwise the restored process has been running for a
// while, and the holes in its address space are unknown, so everything new is placed below.
func (d *Driver) Adopt(addr, bytes uint64) {
	first := d.used == 0
	d.Simple.Adopt(addr, bytes)
	end := addr + roundUp(bytes, granularity)
	if addr < hostAddresses {
		d.nextRange = max(d.nextRange, roundUp(end, chunkUnit))
		return
	}
	if first && end-addr == granularity && end%chunkUnit == 0 {
		d.enter(end)
		d.place(granularity)
		d.takes = 1
		return
	}
	d.forget()
	d.launched, d.handles = true, blasHandles
	d.floor = min(d.floor, addr-addr%chunkUnit)
}
