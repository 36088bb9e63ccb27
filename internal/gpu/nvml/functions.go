// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !static

package nvml

import "bytes"

func (f *functions) Init() code { return f.init() }

func (f *functions) Shutdown() code {
	if f.shutdown == nil {
		return notFound
	}
	return f.shutdown()
}

// ErrorString returns a message for a code, even if the library has none.
func (f *functions) ErrorString(c code) string {
	if f.errorString == nil || c == notFound {
		return "this driver is too old"
	}
	return f.errorString(c)
}

func (f *functions) DriverVersion() (string, code) { return text(f.driverVersion) }

func (f *functions) DeviceName(h handle) (string, code) { return textOf(f.name, h) }

func (f *functions) UUID(h handle) (string, code) { return textOf(f.uuid, h) }

func (f *functions) CUDAVersion() (int, code) {
	if f.cudaVersion == nil {
		return 0, notFound
	}
	var v int32
	c := f.cudaVersion(&v)
	return int(v), c
}

func (f *functions) Count() (int, code) {
	var n uint32
	c := f.count(&n)
	return int(n), c
}

func (f *functions) Handle(index int) (handle, code) {
	var h handle
	c := f.handleByIndex(uint32(index), &h)
	return h, c
}

func (f *functions) Bus(h handle) (string, code) {
	if f.pci == nil {
		return "", notFound
	}
	var p pciInfo
	c := f.pci(h, &p)
	return zeroEnded(p.busID[:]), c
}

// Memory prefers the newer function, which reports the driver's share separately, and falls back to the older one.
func (f *functions) Memory(h handle) (memory, code) {
	if f.memory2 != nil {
		m := memoryInfo2{version: version2}
		if c := f.memory2(h, &m); c == success || c == gpuLost || f.memory1 == nil {
			return memory{m.total, m.reserved, m.free, m.used}, c
		}
	}
	if f.memory1 == nil {
		return memory{}, notFound
	}
	var m memoryInfo
	c := f.memory1(h, &m)
	return memory{total: m.total, free: m.free, used: m.used}, c
}

func (f *functions) Capability(h handle) (int, int, code) {
	if f.capability == nil {
		return 0, 0, notFound
	}
	var major, minor int32
	c := f.capability(h, &major, &minor)
	return int(major), int(minor), c
}

func (f *functions) ECC(h handle) (bool, code) {
	if f.ecc == nil {
		return false, notFound
	}
	var now, next int32
	c := f.ecc(h, &now, &next)
	return now == 1, c
}

func (f *functions) MIG(h handle) (bool, code) {
	if f.mig == nil {
		return false, notFound
	}
	var now, next uint32
	c := f.mig(h, &now, &next)
	return now == 1, c
}

func (f *functions) Slices(h handle) (int, code) {
	n, c := whole(f.maxSlices, h)
	return n, c
}

func (f *functions) Slice(h handle, index int) (handle, code) {
	if f.sliceByIndex == nil {
		return 0, notFound
	}
	var s handle
	c := f.sliceByIndex(h, uint32(index), &s)
	return s, c
}

func (f *functions) Instance(slice handle) (int, int, code) {
	g, c := whole(f.gpuInstance, slice)
	if c != success {
		return 0, 0, c
	}
	i, c := whole(f.computeInstance, slice)
	return g, i, c
}

func (f *functions) Attributes(slice handle) (attributes, code) {
	if f.attributes == nil {
		return attributes{}, notFound
	}
	var a attributesInfo
	c := f.attributes(slice, &a)
	return attributes{int(a.multiprocessors), int(a.gpuSlices), int(a.computeSlices), a.memoryMB}, c
}

func (f *functions) Utilization(h handle) (int, code) {
	if f.utilization == nil {
		return 0, notFound
	}
	var u utilizationInfo
	c := f.utilization(h, &u)
	return int(u.gpu), c
}

func (f *functions) Power(h handle) (int, code) { return whole(f.power, h) }

func (f *functions) PowerLimit(h handle) (int, code) { return whole(f.powerLimit, h) }

func (f *functions) Temperature(h handle) (int, code) {
	return whole(f.celsius(), h)
}

// celsius returns the function that reads the chip's temperature, which is sensor 0.
func (f *functions) celsius() func(handle, *uint32) code {
	if f.temperature == nil {
		return nil
	}
	return func(h handle, n *uint32) code { return f.temperature(h, 0, n) }
}

// Slowdown prefers the function's newer name.
func (f *functions) Slowdown(h handle) (uint64, code) {
	ask := f.slowdown
	if ask == nil {
		ask = f.slowdownOld
	}
	if ask == nil {
		return 0, notFound
	}
	var bits uint64
	c := ask(h, &bits)
	return bits, c
}

// text calls a function that fills a buffer.
func text(fill func(*byte, uint32) code) (string, code) {
	if fill == nil {
		return "", notFound
	}
	var buffer [256]byte
	c := fill(&buffer[0], uint32(len(buffer)))
	return zeroEnded(buffer[:]), c
}

func textOf(fill func(handle, *byte, uint32) code, h handle) (string, code) {
	if fill == nil {
		return "", notFound
	}
	return text(func(b *byte, n uint32) code { return fill(h, b, n) })
}

// whole calls a function that returns one number.
func whole(ask func(handle, *uint32) code, h handle) (int, code) {
	if ask == nil {
		return 0, notFound
	}
	var n uint32
	c := ask(h, &n)
	return int(n), c
}

// zeroEnded converts a C string.
func zeroEnded(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
