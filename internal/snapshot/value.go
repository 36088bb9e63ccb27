// SPDX-License-Identifier: Apache-2.0

package snapshot

import "math"

// kind is the type of a value on the pickle machine's stack.
type kind uint8

const (
	vNone  kind = iota
	vBool       // n is 0 or 1
	vInt        // n is an int64
	vFloat      // n is the bits of a float64
	vText       // n is an index into texts
	vList       // n is an index into lists
	vTuple      // n is an index into tuples
	vDict       // n is an index into dicts
	vEntry      // n is an index into the trace entries: a dict that fast.go read
	vStack      // n is a stack: a list of frames that fast.go read
)

var kindNames = [...]string{"None", "a bool", "an int", "a float", "a string", "a list", "a tuple", "a dict", "a trace entry", "a stack"}

func (k kind) String() string { return kindNames[k] }

// value is any pickled value, in sixteen bytes without pointers; larger values are in a table of the machine, and n
// is the index.
type value struct {
	n    uint64
	kind kind
}

func (v value) float() float64 {
	if v.kind == vInt {
		return float64(int64(v.n))
	}
	return math.Float64frombits(v.n)
}

// ref is a value in four bytes, of a kind that can be memoized.
type ref uint32

const (
	refBits = 28
	refMax  = 1<<refBits - 1
)

func (r ref) value() value { return value{uint64(r & refMax), kind(r >> refBits)} }

func refTo(k kind, n int) ref { return ref(k)<<refBits | ref(n) }

// class is the kind of row that a dict becomes, or that a list contains.
type class uint8

const (
	anything class = iota
	anEntry        // one of device_traces' events
	aBlock
	aSegment
	aFrame
	anAnnotation
	aText // only for lists
)

// list is a pickled list. Lists of records are ranges of that record's table, because records are created in the
// order in which they are appended; lists of frames are one index into stacks, so that equal stacks are stored once.
type list struct {
	start, n uint32
	class    class
}

// dict is a pickled dict; row is its index in its class's table.
type dict struct {
	row   uint32
	class class
	known bool // its first items are set, so its class is known
}

type pair struct{ key, val value }

// entry is one element of device_traces, in 32 bytes. Its user_metadata, which changes rarely, is in a separate
// table.
type entry struct {
	addr   uint64
	size   uint64
	time   int64
	stack  uint32 // an index into stacks
	stream uint16 // an index into streams
	action action
	pool   bool // made in a private pool
}

// label is the user_metadata text from one entry onwards.
type label struct{ from, text uint32 }

// action is what a trace entry did; the zero value is none.
type action uint8

const (
	noAction action = iota
	actAlloc
	actFreeRequested
	actFreeCompleted
	actSegmentAlloc
	actSegmentFree
	actSegmentMap
	actSegmentUnmap
	actSnapshot
	actOOM
)

var actions = map[string]action{
	"alloc": actAlloc, "free_requested": actFreeRequested, "free_completed": actFreeCompleted,
	"segment_alloc": actSegmentAlloc, "segment_free": actSegmentFree,
	"segment_map": actSegmentMap, "segment_unmap": actSegmentUnmap,
	"snapshot": actSnapshot, "oom": actOOM,
}

// entryChunk is the number of entries allocated at a time. Chunks are never copied, so that reading needs no more
// memory than the entries themselves.
const entryChunk = 1 << 14

// entryTable is a growing sequence of entries.
type entryTable struct {
	chunks [][]entry
	n      int
}

// peek returns the entry after the last one, zeroed. Incrementing n makes it part of the table.
func (t *entryTable) peek() *entry {
	if t.n == len(t.chunks)*entryChunk {
		t.chunks = append(t.chunks, make([]entry, entryChunk))
	}
	return t.at(t.n)
}

func (t *entryTable) at(i int) *entry { return &t.chunks[i/entryChunk][i%entryChunk] }
