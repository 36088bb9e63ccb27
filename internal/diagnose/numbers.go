// SPDX-License-Identifier: Apache-2.0

package diagnose

// Number is one figure of a verdict, with its names for JSON and for people.
type Number struct {
	Name, Text string // its name in JSON, and its label for people
	Bytes      uint64 // the figure
}

// Numbers returns the known figures, in display order.
func (v *Verdict) Numbers() (out []Number) {
	m := v.Message
	if m == nil {
		return nil
	}
	for _, n := range []struct {
		Number
		known bool
	}{
		{Number{"tried", "requested", m.Tried}, m.Tried > 0},
		{Number{"total", "the card", m.Total}, m.Total > 0},
		{Number{"free", "free on the card", m.Free}, m.known.free && m.Total > 0},
		{Number{"limit", "limit for this process", m.Limit}, m.Limit > 0},
		{Number{"process", "used by this process", m.Process}, m.Process > 0},
		{Number{"others", "used by other processes", m.Others}, m.Others > 0},
		{Number{"allocated", "in tensors", m.Allocated}, m.known.allocated || m.Allocated > 0},
		{Number{"reserved_unallocated", "reserved, not in tensors", m.Unallocated}, m.known.unallocated || m.Unallocated > 0},
		{Number{"private_pools", "unused in CUDA graphs' pools", m.Private}, m.Private > 0},
	} {
		if n.known {
			out = append(out, n.Number)
		}
	}
	return out
}

// Title returns a readable description of a code.
func (c Code) Title() string { return titles[c] }

var titles = map[Code]string{
	TooBig:             "The run is too big for the card",
	LogitsTooBig:       "The logits are too big",
	Loading:            "The model does not fit when it is loaded",
	FirstOptimizerStep: "The optimizer's state does not fit",
	Evaluation:         "Evaluation needs more memory than training",
	LongBatch:          "One batch is longer than the others",
	Leak:               "Memory is kept from step to step",
	Fragmentation:      "Memory is fragmented",
	OtherProcess:       "Other processes use the card's memory",
	PrivatePool:        "CUDA graphs hold their own memory",
	Resume:             "The checkpoint does not fit next to the run",
	HostMemory:         "Host memory ran out",
	BadDriver:          "The driver refused memory that was free",
	None:               "No sign of an out-of-memory error",
}

// Place returns where held memory was allocated, "" if unknown.
func (h Held) Place() string {
	if h.Where == (Frame{}) {
		return ""
	}
	return h.Where.Where()
}

// Add adds a log to the evidence. With several logs, the messages and steps of all are used.
func (e *Evidence) Add(l *Log) {
	if e.Log == nil || len(e.Log.Messages) == 0 && len(l.Messages) > 0 {
		if e.Log != nil {
			l.Steps = append(l.Steps, e.Log.Steps...)
		}
		e.Log = l
		return
	}
	e.Log.Messages = append(e.Log.Messages, l.Messages...)
}
