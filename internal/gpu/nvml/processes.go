// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64) && !static

package nvml

// Processes returns the compute and graphics processes on a device, each once.
func (f *functions) Processes(h handle) ([]process, code) {
	var out []process
	type key struct{ pid, gpuInstance uint32 }
	seen := map[key]bool{}
	last := notFound
	for _, list := range []func(handle, *uint32, *processInfo) code{f.compute, f.graphics} {
		infos, c := processes(list, h)
		if c == success || last != success {
			last = c
		}
		for _, p := range infos {
			if seen[key{p.pid, p.gpuInstance}] {
				continue
			}
			seen[key{p.pid, p.gpuInstance}] = true
			if p.used == notReported {
				p.used = 0
			}
			out = append(out, process{int(p.pid), p.used, int(p.gpuInstance)})
		}
	}
	return out, last
}

// processes calls list until the buffer is large enough, because processes may start in between.
func processes(list func(handle, *uint32, *processInfo) code, h handle) ([]processInfo, code) {
	if list == nil {
		return nil, notFound
	}
	for room := uint32(64); room <= 1<<14; room *= 4 {
		infos, n := make([]processInfo, room), room
		c := list(h, &n, &infos[0])
		if c != tooSmall {
			return infos[:min(n, room)], c
		}
	}
	return nil, tooSmall
}

// ProcessUse returns what processes used of the GPU after a time, the newest value of each.
func (f *functions) ProcessUse(h handle, after uint64) ([]processUse, code) {
	if f.processUse == nil {
		return nil, notFound
	}
	for room := uint32(64); room <= 1<<12; room *= 4 {
		infos, n := make([]processUseInfo, room), room
		c := f.processUse(h, &infos[0], &n, after)
		if c == tooSmall {
			continue
		}
		var out []processUse
		for _, x := range infos[:min(n, room)] {
			if c == success && x.stamp > after {
				out = append(out, processUse{int(x.pid), int(x.multiprocessors), x.stamp})
			}
		}
		return out, c
	}
	return nil, tooSmall
}

func (f *functions) ProcessName(pid int) (string, code) {
	if f.processName == nil {
		return "", notFound
	}
	return text(func(b *byte, n uint32) code { return f.processName(uint32(pid), b, n) })
}
