// SPDX-License-Identifier: Apache-2.0

package snapshot

import "io"

// ReadTail reads a snapshot as if its ring buffer had overwritten the given fraction of each device's entries,
// starting with the first.
func ReadTail(r io.Reader, share float64) (*Recording, error) {
	m, root, err := read(r)
	if err != nil {
		return nil, err
	}
	top, err := m.sections(root)
	if err != nil {
		return nil, err
	}
	l := m.lists[top["device_traces"].n]
	for _, t := range m.items[l.start : l.start+l.n] {
		trace := &m.lists[t.n]
		skip := uint32(share * float64(trace.n))
		trace.start, trace.n = trace.start+skip, trace.n-skip
	}
	return m.recording(root)
}
