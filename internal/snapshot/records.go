// SPDX-License-Identifier: Apache-2.0

package snapshot

import "strconv"

// field is the meaning of a string as a key of a record.
type field uint8

const (
	noField field = iota
	fAction
	fAddr
	fAddress
	fSize
	fStream
	fTime
	fFrames
	fMetadata
	fDeviceFree
	fPoolID
	fState
	fRequested
	fTotalSize
	fSegmentType
	fSegmentPool
	fExpandable
	fBlocks
	fDevice
	fFilename
	fName
	fLine
	fStage
)

var fieldNames = map[string]field{
	"action": fAction, "addr": fAddr, "address": fAddress, "size": fSize, "stream": fStream,
	"time_us": fTime, "frames": fFrames, "user_metadata": fMetadata, "device_free": fDeviceFree,
	"pool_id": fPoolID, "state": fState, "requested_size": fRequested, "total_size": fTotalSize,
	"segment_type": fSegmentType, "segment_pool_id": fSegmentPool, "is_expandable": fExpandable,
	"blocks": fBlocks, "device": fDevice, "filename": fFilename, "name": fName, "line": fLine,
	"stage": fStage,
}

// classOf identifies a dict's class by a key that only that class has.
var classOf = map[field]class{
	fAction: anEntry, fState: aBlock, fTotalSize: aSegment, fFilename: aFrame, fStage: anAnnotation,
}

var states = map[string]BlockState{
	"inactive": Inactive, "active_allocated": Allocated,
	"active_pending_free": PendingFree, "active_awaiting_free": PendingFree,
}

// rawSegment is a segment whose blocks are still a range of the block table.
type rawSegment struct {
	Segment
	blocks list
}

// rawFrame is a frame whose file and name are indices into texts.
type rawFrame struct{ file, name, line uint32 }

// setItems adds items to a dict: key, value, key, value.
func (m *machine) setItems(d *dict, kv []value) error {
	if len(kv)%2 != 0 {
		return m.fail("a key has no value")
	}
	switch {
	case !d.known:
		d.known = true
		m.addRow(d, m.classify(kv))
	case d.class == aFrame: // lists that are read later refer to the changed frame
		m.forgetShapes()
	}
	switch d.class {
	case anEntry:
		return m.setEntry(d.row, kv)
	case aBlock:
		return m.setBlock(&m.blocks[d.row], kv)
	case aSegment:
		return m.setSegment(&m.segments[d.row], kv)
	case anAnnotation:
		return m.setAnnotation(&m.annotations[d.row], kv)
	case aFrame:
		return m.setFrame(d, kv)
	}
	for i := 0; i < len(kv); i += 2 {
		m.maps[d.row] = append(m.maps[d.row], pair{kv[i], kv[i+1]})
	}
	m.mapped += len(kv)
	return nil
}

func (m *machine) classify(kv []value) class {
	for i := 0; i < len(kv); i += 2 {
		if c, ok := classOf[m.field(kv[i])]; ok {
			return c
		}
	}
	return anything
}

func (m *machine) field(key value) field {
	if key.kind != vText {
		return noField
	}
	return m.fields[key.n]
}

// addRow adds a row for d to its class's table.
func (m *machine) addRow(d *dict, c class) {
	d.class = c
	switch c {
	case anEntry:
		d.row = uint32(m.entries.n)
		m.entries.peek()
		m.entries.n++
	case aBlock:
		d.row = uint32(len(m.blocks))
		m.blocks = append(m.blocks, Block{})
	case aSegment:
		d.row = uint32(len(m.segments))
		m.segments = append(m.segments, rawSegment{})
	case anAnnotation:
		d.row = uint32(len(m.annotations))
		m.annotations = append(m.annotations, Annotation{})
	case anything:
		d.row = uint32(len(m.maps))
		m.maps = append(m.maps, nil)
	}
}

func (m *machine) setEntry(row uint32, kv []value) error {
	e := m.entries.at(int(row))
	m.label = 0
	for i := 0; i < len(kv); i += 2 {
		if err := m.setEntryField(e, m.field(kv[i]), kv[i+1]); err != nil {
			return err
		}
	}
	m.keepLabel(row)
	return nil
}

// keepLabel stores the label of the entry just read, if it differs from the last one.
func (m *machine) keepLabel(row uint32) {
	var last label
	if n := len(m.labels); n > 0 {
		last = m.labels[n-1]
	}
	if m.label != last.text && row >= last.from {
		m.labels = append(m.labels, label{row, m.label})
	}
}

// setEntryField is the only place that interprets the keys of a trace entry.
func (m *machine) setEntryField(e *entry, f field, v value) (err error) {
	switch f {
	case fAction:
		if v.kind != vText || m.actions[v.n] == noAction {
			return m.fail("the trace has an unknown action %s", m.show(v))
		}
		e.action = m.actions[v.n]
	case fAddr, fDeviceFree:
		if v.kind != vInt {
			return m.fail("an address is %v", v.kind)
		}
		e.addr = v.n
	case fSize:
		e.size, err = m.asSize(v, "the size of a trace entry")
	case fStream:
		e.stream, err = m.streamOf(v)
	case fTime:
		if v.kind != vInt {
			return m.fail("a time is %v", v.kind)
		}
		e.time = int64(v.n)
	case fFrames:
		e.stack, err = m.stackOf(v)
	case fMetadata:
		if v.kind == vText {
			m.label = uint32(v.n)
		}
	case fPoolID:
		e.pool = m.poolOf(v) != [2]int64{}
	}
	return err
}

// maxStreams is far more than any program uses; PyTorch's own pool has 32 per priority.
const maxStreams = 4096

// streamOf returns the index of a CUDA stream's handle.
func (m *machine) streamOf(v value) (uint16, error) {
	if v.kind != vInt {
		return 0, m.fail("a stream is %v", v.kind)
	}
	for i, h := range m.streams {
		if h == v.n {
			return uint16(i), nil
		}
	}
	if len(m.streams) == maxStreams {
		return 0, m.fail("more than %d streams", len(m.streams))
	}
	m.streams = append(m.streams, v.n)
	return uint16(len(m.streams) - 1), nil
}

// poolOf reads a pool id, a pair of ints; anything else is the default pool.
func (m *machine) poolOf(v value) [2]int64 {
	if v.kind == vTuple && len(m.tuples[v.n]) == 2 {
		t := m.tuples[v.n]
		return [2]int64{int64(t[0].n), int64(t[1].n)}
	}
	return [2]int64{}
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
