// SPDX-License-Identifier: Apache-2.0

package snapshot

// The keys of blocks, segments, annotations and frames. The keys of trace entries are in records.go.

func (m *machine) setBlock(b *Block, kv []value) (err error) {
	for i := 0; i < len(kv) && err == nil; i += 2 {
		v := kv[i+1]
		switch m.field(kv[i]) {
		case fAddress:
			b.Addr = v.n
		case fSize:
			b.Size, err = m.asSize(v, "the size of a block")
		case fRequested:
			b.Requested, err = m.asSize(v, "the requested size of a block")
		case fState:
			var ok bool
			if b.State, ok = states[m.textOf(v)]; !ok {
				err = m.fail("a block has an unknown state %s", m.show(v))
			}
		case fFrames:
			b.Stack, err = m.stackOf(v)
		}
	}
	return err
}

func (m *machine) setSegment(s *rawSegment, kv []value) (err error) {
	for i := 0; i < len(kv) && err == nil; i += 2 {
		v := kv[i+1]
		switch m.field(kv[i]) {
		case fAddress:
			s.Addr = v.n
		case fTotalSize:
			s.Size, err = m.asSize(v, "the size of a segment")
		case fStream:
			s.Stream = v.n
		case fDevice:
			s.Device, err = m.deviceOf(v)
		case fSegmentType:
			s.Small = m.textOf(v) == "small"
		case fSegmentPool:
			s.Pool = m.poolOf(v)
		case fExpandable:
			s.Expandable = v.kind == vBool && v.n == 1
		case fBlocks:
			s.blocks, err = m.blocksOf(v)
		}
	}
	return err
}

func (m *machine) blocksOf(v value) (list, error) {
	if v.kind != vList {
		return list{}, m.fail("the blocks of a segment are %v", v.kind)
	}
	l := m.lists[v.n]
	if l.n > 0 && l.class != aBlock {
		return list{}, m.fail("a segment's list of blocks contains something other than blocks")
	}
	return l, nil
}

// maxDevices is far more than any process has.
const maxDevices = 1024

func (m *machine) deviceOf(v value) (int, error) {
	if v.kind != vInt || v.n >= maxDevices {
		return 0, m.fail("a device is %s", m.show(v))
	}
	return int(v.n), nil
}

func (m *machine) setAnnotation(a *Annotation, kv []value) (err error) {
	for i := 0; i < len(kv) && err == nil; i += 2 {
		v := kv[i+1]
		switch m.field(kv[i]) {
		case fName:
			a.Name = m.textOf(v)
		case fStage:
			a.Start = m.textOf(v) == "START"
		case fDevice:
			a.Device, err = m.deviceOf(v)
		case fTime:
			a.Time = int64(v.n)
		}
	}
	return err
}

// setFrame makes a dict a row of the frame table; equal frames share a row.
func (m *machine) setFrame(d *dict, kv []value) error {
	var f rawFrame
	for i := 0; i < len(kv); i += 2 {
		v := kv[i+1]
		switch m.field(kv[i]) {
		case fFilename:
			f.file = m.textID(v)
		case fName:
			f.name = m.textID(v)
		case fLine:
			f.line = uint32(v.n)
		}
	}
	id, ok := m.frameIDs[f]
	if !ok {
		id = uint32(len(m.frames))
		m.frames = append(m.frames, Frame{m.texts[f.file], m.texts[f.name], int(int32(f.line))})
		m.frameIDs[f] = id
	}
	d.row = id
	return nil
}

// textID returns a string's index; anything else counts as "".
func (m *machine) textID(v value) uint32 {
	if v.kind != vText {
		return 0
	}
	return uint32(v.n)
}

func (m *machine) textOf(v value) string { return m.texts[m.textID(v)] }
