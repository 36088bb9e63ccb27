// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// recording converts the tables to a Recording.
func (m *machine) recording(root value) (*Recording, error) {
	top, err := m.sections(root)
	if err != nil {
		return nil, err
	}
	rec := &Recording{
		Annotations: m.annotations,
		Frames:      m.frames,
		Stacks:      m.stacks.all(),
		Texts:       m.texts,
		Settings:    m.settings(top["allocator_settings"]),
		Torch:       m.torch(),
		Probe:       m.textOf(top["snug"]),
	}
	slices.SortStableFunc(rec.Annotations, func(a, b Annotation) int { return cmp.Compare(a.Time, b.Time) })
	traces, err := m.traces(top["device_traces"])
	if err != nil {
		return nil, err
	}
	finals, err := m.finals(top["segments"])
	if err != nil {
		return nil, err
	}
	return rec, rec.addDevices(m, traces, finals)
}

// addDevices folds each device's entries into events.
func (r *Recording) addDevices(m *machine, traces []list, finals map[int][]Segment) error {
	last := len(traces) - 1
	for i := range finals {
		last = max(last, i)
	}
	for i := 0; i <= last; i++ {
		var trace list
		if i < len(traces) {
			trace = traces[i]
		}
		if trace.n == 0 && len(finals[i]) == 0 {
			continue
		}
		d, err := fold(m, i, trace, finals[i], r.Settings)
		if err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		r.Devices = append(r.Devices, *d)
	}
	if len(r.Devices) == 0 {
		return errors.New("the snapshot is empty: no segment, no trace entry")
	}
	return nil
}

// sections returns the root dict's items. A bare list of segments, as returned by torch.cuda.memory_snapshot(), is
// treated as a dict with only those.
func (m *machine) sections(root value) (map[string]value, error) {
	if root.kind == vList && m.lists[root.n].class == aSegment {
		return map[string]value{"segments": root}, nil
	}
	top, ok := m.plain(root)
	if _, some := top["segments"]; !ok || !some {
		return nil, fmt.Errorf("a pickle, but not a snapshot: %v without \"segments\"", root.kind)
	}
	return top, nil
}

// plain returns a dict of arbitrary values as a Go map, and false if v is not one.
func (m *machine) plain(v value) (map[string]value, bool) {
	if v.kind != vDict || m.dicts[v.n].class != anything {
		return nil, false
	}
	out := map[string]value{}
	if d := m.dicts[v.n]; d.known {
		for _, p := range m.maps[d.row] {
			out[m.textOf(p.key)] = p.val
		}
	}
	return out, true
}

// traces returns the ranges of entries, one per device.
func (m *machine) traces(v value) ([]list, error) {
	if v.kind == vNone {
		return nil, nil
	}
	if v.kind != vList || m.lists[v.n].class != anything {
		return nil, errors.New("device_traces is not a list of lists")
	}
	l := m.lists[v.n]
	if l.n > maxDevices {
		return nil, fmt.Errorf("device_traces has %d devices", l.n)
	}
	var out []list
	end := uint32(0)
	for _, t := range m.items[l.start : l.start+l.n] {
		if t.kind != vList || m.lists[t.n].n > 0 && m.lists[t.n].class != anEntry {
			return nil, errors.New("device_traces is not a list of lists of entries")
		}
		trace := m.lists[t.n]
		if trace.n > 0 && trace.start < end {
			return nil, errors.New("device_traces has the same entries twice")
		}
		if trace.n > 0 {
			end = trace.start + trace.n
		}
		out = append(out, trace)
	}
	return out, nil
}

// finals returns each device's segments, sorted by address.
func (m *machine) finals(v value) (map[int][]Segment, error) {
	if v.kind != vList || m.lists[v.n].n > 0 && m.lists[v.n].class != aSegment {
		return nil, errors.New("segments is not a list of segments")
	}
	out := map[int][]Segment{}
	l := m.lists[v.n]
	for i := range m.segments[l.start : l.start+l.n] {
		raw := &m.segments[int(l.start)+i]
		s := raw.Segment
		s.Blocks = m.blocks[raw.blocks.start : raw.blocks.start+raw.blocks.n : raw.blocks.start+raw.blocks.n]
		if err := s.settle(); err != nil {
			return nil, err
		}
		out[s.Device] = append(out[s.Device], s)
	}
	for _, ss := range out {
		slices.SortFunc(ss, func(a, b Segment) int { return cmp.Compare(a.Addr, b.Addr) })
		for i := 1; i < len(ss); i++ {
			if ss[i].Addr < ss[i-1].Addr+ss[i-1].Size {
				return nil, fmt.Errorf("the segments at %#x and %#x overlap", ss[i-1].Addr, ss[i].Addr)
			}
		}
	}
	return out, nil
}

// settle sets block addresses, which files before 2.1 omit, and returns an error if the blocks do not cover the
// segment.
func (s *Segment) settle() error {
	if s.Size == 0 || s.Addr+s.Size < s.Addr {
		return fmt.Errorf("the segment at %#x has an impossible size: %d bytes", s.Addr, s.Size)
	}
	at := s.Addr
	for i := range s.Blocks {
		b := &s.Blocks[i]
		if b.Addr != at && b.Addr != 0 {
			return fmt.Errorf("the segment at %#x has a gap before its block at %#x", s.Addr, b.Addr)
		}
		if b.Size == 0 || b.Size > s.Size {
			return fmt.Errorf("the segment at %#x has a block of %d bytes", s.Addr, b.Size)
		}
		b.Addr = at
		at += b.Size
	}
	if at != s.Addr+s.Size && len(s.Blocks) > 0 {
		return fmt.Errorf("the segment at %#x has %d bytes, its blocks %d", s.Addr, s.Size, at-s.Addr)
	}
	return nil
}

// settings reads allocator_settings; a missing section leaves them unknown.
func (m *machine) settings(v value) Settings {
	kv, ok := m.plain(v)
	if !ok {
		return Settings{MaxSplitSize: -1}
	}
	s := Settings{
		Known:              true,
		Conf:               m.textOf(kv["PYTORCH_CUDA_ALLOC_CONF"]),
		MaxSplitSize:       int64(kv["max_split_size"].n),
		GCThreshold:        kv["garbage_collection_threshold"].float(),
		ExpandableSegments: kv["expandable_segments"].n == 1,
		RoundupDivisions:   map[string]int64{},
	}
	divisions, _ := m.plain(kv["roundup_power2_divisions"])
	for k, d := range divisions {
		if d.kind == vInt && d.n != 0 {
			s.RoundupDivisions[k] = int64(d.n)
		}
	}
	return s
}

// keysSince lists keys with the PyTorch version that introduced each, newest first.
var keysSince = []struct{ key, torch string }{
	{"pool_id", "2.12"},
	{"forward_frames", "2.11"},
	{"user_metadata", "2.11"}, // introduced in 2.10, whose recordings do not differ from 2.11's
	{"graph_capture_record_stream_reuse", "2.9"},
	{"compile_context", "2.8"},
	{"external_annotations", "2.5"},
	{"allocator_settings", "2.3"},
	{"time_us", "2.2"},
	{"is_expandable", "2.1"},
}

func (m *machine) torch() string {
	for _, k := range keysSince {
		if _, ok := m.textIDs[k.key]; ok {
			return k.torch
		}
	}
	return "2.0"
}
