// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// pickler writes pickles for tests, like CPython's pickler with protocol 4 or TorchScript's (protocol 2, memo after
// the object, whole lists in one batch).
type pickler struct {
	bytes.Buffer
	torchScript bool
	memo        map[any]int // memo slots of texts and shared objects
	named       int
}

// d is an ordered dict, l a list, tup a tuple, and shared an object that is written once and then read from the memo.
type (
	d      []any
	l      []any
	tup    []any
	shared struct{ v any }
)

// rename writes an object, and then gives it another object's memo name.
type rename struct{ from, to *shared }

func pickled(v any, torchScript bool) []byte {
	p := &pickler{torchScript: torchScript, memo: map[any]int{}}
	if torchScript {
		p.Write([]byte{opProto, 2})
	} else {
		p.Write([]byte{opProto, 4})
	}
	p.value(v)
	p.WriteByte(opStop)
	return p.Bytes()
}

func (p *pickler) value(v any) {
	switch v := v.(type) {
	case d:
		p.container(opEmptyDict, opSetItems, v)
	case l:
		p.container(opEmptyList, opAppends, v)
	case tup:
		if len(v) == 2 {
			p.all(v)
			p.WriteByte(opTuple2)
			p.name()
			return
		}
		p.WriteByte(opMark)
		p.all(v)
		p.WriteByte(opTuple)
		p.name()
	case *shared:
		p.once(v)
	case rename:
		p.get(v.to)
		p.Write([]byte{opLongBinPut})
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(p.memo[v.from])))
	case string:
		p.text(v)
	case int:
		p.int(int64(v))
	case int64:
		p.int(v)
	case uint64:
		p.int(int64(v))
	case float64:
		p.WriteByte(opBinFloat)
		p.Write(binary.BigEndian.AppendUint64(nil, math.Float64bits(v)))
	case bool:
		p.WriteByte(map[bool]byte{true: opTrue, false: opFalse}[v])
	case nil:
		p.WriteByte(opNone)
	case []byte: // raw opcodes
		p.Write(v)
	default:
		panic(fmt.Sprintf("cannot pickle %T", v))
	}
}

func (p *pickler) all(vs []any) {
	for _, v := range vs {
		p.value(v)
	}
}

// container writes an empty container and fills it, in CPython's batches of a thousand items.
func (p *pickler) container(empty, fill byte, vs []any) {
	batch := 1000
	if fill == opSetItems {
		batch = 2000
	}
	p.WriteByte(empty)
	if p.torchScript {
		batch = len(vs) + 1
	} else {
		p.name()
	}
	for len(vs) > 0 {
		n := min(batch, len(vs))
		p.fill(fill, vs[:n])
		vs = vs[n:]
	}
	if p.torchScript {
		p.name()
	}
}

// fill puts items into a container; a list's only item is written without a mark.
func (p *pickler) fill(op byte, vs []any) {
	if op == opAppends && len(vs) == 1 && !p.torchScript {
		p.all(vs)
		p.WriteByte(opAppend)
		return
	}
	p.WriteByte(opMark)
	p.all(vs)
	p.WriteByte(op)
}

func (p *pickler) name() {
	switch {
	case !p.torchScript:
		p.WriteByte(opMemoize)
	case p.named < 256:
		p.Write([]byte{opBinPut, byte(p.named)})
	default:
		p.WriteByte(opLongBinPut)
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(p.named)))
	}
	p.named++
}

// get reads an object from the memo if present.
func (p *pickler) get(object any) bool {
	slot, ok := p.memo[object]
	switch {
	case !ok:
	case slot < 256:
		p.Write([]byte{opBinGet, byte(slot)})
	default:
		p.WriteByte(opLongBinGet)
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(slot)))
	}
	return ok
}

func (p *pickler) once(s *shared) {
	if p.get(s) {
		return
	}
	slot := p.named
	p.value(s.v)
	if p.torchScript {
		slot = p.named - 1
	}
	p.memo[s] = slot
}

func (p *pickler) text(s string) {
	if p.get(s) {
		return
	}
	if p.torchScript || len(s) > 255 {
		p.WriteByte(opBinUnicode)
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(s))))
	} else {
		p.Write([]byte{opShortBinUnicode, byte(len(s))})
	}
	p.WriteString(s)
	p.memo[s] = p.named
	p.name()
}

func (p *pickler) int(n int64) {
	switch {
	case n >= 0 && n < 256:
		p.Write([]byte{opBinInt1, byte(n)})
	case n == int64(int32(n)):
		p.WriteByte(opBinInt)
		p.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	default:
		p.Write([]byte{opLong1, 8})
		p.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
}

const (
	mib  = 1 << 20
	base = 0x7f0000000000
)

// at returns a trace entry as PyTorch 2.11 writes it.
func at(action string, addr uint64, size int) d {
	return d{"action", action, "addr", addr, "size", size, "stream", 0, "time_us", 1000, "compile_context", "N/A", "user_metadata", ""}
}

// segmentOf returns a final segment with blocks of (size, state).
func segmentOf(device int, addr uint64, sizeMiB int, small bool, blocks ...any) d {
	kind := map[bool]string{true: "small", false: "large"}[small]
	bs, where := l{}, addr
	for i := 0; i < len(blocks); i += 2 {
		size := blocks[i].(int)
		bs = append(bs, d{"address", where, "size", size, "requested_size", size, "state", blocks[i+1], "frames", l{}})
		where += uint64(size)
	}
	return d{
		"device", device, "address", addr, "total_size", sizeMiB * mib, "allocated_size", 0, "active_size", 0,
		"requested_size", 0, "stream", 0, "segment_type", kind, "segment_pool_id", tup{0, 0},
		"is_expandable", false, "frames", l{}, "blocks", bs,
	}
}

func snapshotOf(segments l, traces ...any) d {
	return d{
		"segments", segments, "device_traces", l(traces),
		"allocator_settings", d{
			"PYTORCH_CUDA_ALLOC_CONF", "", "max_split_size", -1, "garbage_collection_threshold", 0.0,
			"expandable_segments", false, "roundup_power2_divisions", d{"1", 0, "2", 8},
		},
		"external_annotations", l{d{"stage", "START", "name", "step", "device", 0, "time_us", 5}},
	}
}
