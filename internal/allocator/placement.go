// SPDX-License-Identifier: Apache-2.0

package allocator

import "snug/internal/units"

type Driver struct {
	Simple // the account of memory

	addresses
	ranges   uint64 // where the next expandable range goes
	takes    int
	launched bool
	handle   bool
}

const (
	contextEnd = 0x7f5ad2000000
	contextLow = contextEnd - 416*units.MiB
	rangesFrom = 0x302000000
	codePage     = 2 * units.MiB
	localMemory  = 506 * units.MiB
	heapAndPrint = 10 * units.MiB
	blasHandle   = 64 * units.MiB
	blasWorkspace = 32 * units.MiB
)

func NewDriver(total, outside uint64) *Driver {
	d := &Driver{Simple: Simple{Total: total, Outside: outside}, ranges: rangesFrom}
	d.floor = contextLow
	d.chunks = []chunk{
		{span: span{contextEnd + 64*units.MiB, contextEnd + 96*units.MiB}},
		{span: span{contextLow, contextEnd}},
	}
	d.chunks[0].put(span{contextEnd + 72*units.MiB, contextEnd + 96*units.MiB})
	d.chunks[1].put(span{contextEnd - 2*units.MiB, contextEnd})
	return d
}

func (d *Driver) Take(bytes uint64) (uint64, bool) {
	bytes = roundUp(bytes, granularity)
	if !d.Map(bytes) {
		return 0, false
	}
	d.others(bytes)
	return d.place(bytes), true
}

func (d *Driver) others(bytes uint64) {
	d.takes++
	if d.takes == 3 && !d.launched {
		d.launched = true
		d.place(codePage)
		d.place(localMemory)
		d.chunks[1].put(span{contextLow, contextEnd - 2*units.MiB})
	}
	if bytes == blasWorkspace && d.launched && !d.handle {
		d.handle = true
		d.place(heapAndPrint)
		d.place(codePage)
		d.place(blasHandle)
	}
}

func (d *Driver) Give(addr, bytes uint64) {
	bytes = roundUp(bytes, granularity)
	d.Unmap(bytes)
	d.release(span{addr, addr + bytes})
}

func (d *Driver) Reserve(bytes uint64) uint64 {
	addr := d.ranges
	d.ranges += roundUp(bytes, chunkUnit)
	return addr
}
