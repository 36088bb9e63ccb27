// SPDX-License-Identifier: Apache-2.0

// Package snapshot reads the files that torch.cuda.memory._dump_snapshot
// writes: the state of PyTorch's caching allocator, and the events that led to it.
//
// A snapshot is one pickled dict. Unpickling runs arbitrary code, so this package has its own reader, which builds
// only dicts, lists, tuples, strings and numbers. It refuses every other opcode by name. It does not keep the objects
// either: the millions of trace entries are converted directly from bytes to flat tables (see machine.go), in one
// pass, without loading the whole file.
//
// The stages, one file each:
//
//	window.go    reads bytes, plain or gzip, and tracks the offset for messages
//	machine.go   the pickle machine: its stack and marks, its values (value.go), and its
//	               opcodes (opcodes.go, scalars.go, containers.go, memo.go, refuse.go)
//	records.go, rows.go  dicts with known keys become rows of a table
//	fast.go      the shape that nearly every trace entry has, without the stack; its keys
//	               (shapes.go) and its frames (stacks.go)
//	recording.go the tables become a Recording
//	fold.go      entries become the events of a stream.Trace (addresses.go, flush.go, writer.go)
//	rewind.go    the final state is rewound to the start of the recording (place.go,
//	               segment_list.go)
//
// Key names were read from torch/csrc/cuda/Module.cpp and memory_snapshot.cpp of
// PyTorch 2.0 to 2.12. Unknown keys are skipped; keys added later (time_us in 2.2,
// user_metadata in 2.10) may be missing.
package snapshot

import (
	"fmt"
	"io"

	"snug/internal/stream"
)

// Read reads a snapshot, plain or gzip.
func Read(r io.Reader) (*Recording, error) {
	m, root, err := read(r)
	if err != nil {
		return nil, err
	}
	return m.recording(root)
}

// Recording is one snapshot file.
type Recording struct {
	Devices     []Device     // the devices with a trace or a segment, by index
	Settings    Settings     // the allocator's settings
	Annotations []Annotation // record_function ranges
	Frames      []Frame      // all Python frames; stacks refer to them
	Stacks      [][]uint32   // lists of indices into Frames, innermost first; Stacks[0] is empty
	Texts       []string     // the strings that Device.Metadata refers to; Texts[0] is ""
	Torch       string       // the PyTorch release deduced from the keys: "2.11"
	Probe       string       // the probe's notes about the steps, as JSON; "" if the probe did not record this
}

// Device is one GPU's recording.
type Device struct {
	Index     int           // CUDA's index
	Trace     *stream.Trace // its allocations and frees
	Addresses []uint64      // address of each allocation, by ID
	Times     []int64       // time of each event in microseconds since the epoch; nil before PyTorch 2.2
	Stacks    []uint32      // for each event an index into Recording.Stacks; nil if no stacks were recorded
	Metadata  []uint32      // for each event an index into Recording.Texts; nil if all are empty

	SegmentEvents []SegmentEvent // requests to the driver, in order
	OOMs          []OOM          // failed requests
	Start         []Segment      // segments at the start of the recording, by address
	Final         []Segment      // segments at the end of the recording, by address
	Entries       int            // trace entries in the file
}

// SegmentKind is the kind of a SegmentEvent.
type SegmentKind uint8

// The segment events of PyTorch's trace.
const (
	SegmentAlloc SegmentKind = iota // cudaMalloc
	SegmentFree                     // cudaFree
	SegmentMap                      // memory mapped into an expandable segment
	SegmentUnmap                    // memory unmapped from an expandable segment
)

var segmentKindNames = [...]string{"segment_alloc", "segment_free", "segment_map", "segment_unmap"}

// String returns the name of the kind.
func (k SegmentKind) String() string { return segmentKindNames[k] }

// SegmentEvent records memory obtained from or returned to the driver.
type SegmentEvent struct {
	Addr   uint64      // address of the first byte
	Size   uint64      // bytes
	Stream uint64      // CUDA stream handle
	Event  int         // index of the trace event that follows it
	Stack  uint32      // index into Recording.Stacks
	Kind   SegmentKind // what was requested
	Flush  bool        // returned by an empty_cache, not to make room for an allocation
}

// String describes the event for messages.
func (e SegmentEvent) String() string {
	return fmt.Sprintf("%s of %d bytes at %#x", e.Kind, e.Size, e.Addr)
}

// OOM is an allocation that failed.
type OOM struct {
	Size       uint64 // the request, rounded
	DeviceFree int64  // free bytes on the card
	Event      int    // index of the trace event that follows it
	Time       int64  // microseconds since the epoch
	Stack      uint32 // index into Recording.Stacks
}

// BlockState is whether a block is in use.
type BlockState uint8

// The states of a block.
const (
	Inactive    BlockState = iota // free
	Allocated                     // in use
	PendingFree                   // freed, but another CUDA stream may still use it
)

// Block is a piece of a segment.
type Block struct {
	Addr      uint64     // address of the first byte
	Size      uint64     // bytes
	Requested uint64     // meaningless when inactive
	Stack     uint32     // index into Recording.Stacks
	State     BlockState // in use or free
}

// Segment is a range of memory obtained from the driver. With expandable segments it is a range of adjacent mapped
// pages.
type Segment struct {
	Addr       uint64   // address of the first byte
	Size       uint64   // bytes
	Stream     uint64   // CUDA stream handle
	Pool       [2]int64 // (0, 0) except for CUDA graphs and MemPools
	Device     int      // CUDA's index
	Small      bool     // it belongs to the small pool
	Expandable bool     // it grows page by page
	Blocks     []Block  // blocks that cover the segment without gaps
}

// Frame is one line of a call stack.
type Frame struct {
	File string // source file
	Name string // function
	Line int    // counts from 1
}

// Annotation is one end of a record_function range.
type Annotation struct {
	Name   string // name of the range
	Start  bool   // whether the range begins or ends here
	Device int    // CUDA's index
	Time   int64  // microseconds since the epoch
}

// Settings is the allocator's configuration according to the file. Files from before PyTorch 2.3 do not contain it.
type Settings struct {
	Known              bool             // false in recordings without settings
	Conf               string           // PYTORCH_CUDA_ALLOC_CONF
	MaxSplitSize       int64            // -1 means unlimited
	GCThreshold        float64          // garbage_collection_threshold; 0 means off
	ExpandableSegments bool             // expandable_segments:True
	RoundupDivisions   map[string]int64 // keyed by the smallest size of a size class in MiB, a power of two
}

// Busiest returns the device with the most trace entries, or nil.
func (r *Recording) Busiest() *Device {
	var best *Device
	for i := range r.Devices {
		if d := &r.Devices[i]; best == nil || d.Entries > best.Entries {
			best = d
		}
	}
	return best
}

// Device returns the device with the given index, or nil if it is not in the recording.
func (r *Recording) Device(index int) *Device {
	for i := range r.Devices {
		if r.Devices[i].Index == index {
			return &r.Devices[i]
		}
	}
	return nil
}
