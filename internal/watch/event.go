// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events, as written in a recording.
const (
	KindStart Kind = "start" // watching begins
	KindLimit Kind = "limit" // a cap on what PyTorch may reserve
	KindGPU   Kind = "gpu"   // a sample of a card
	KindStep  Kind = "step"  // a training step, or an evaluation batch
	KindOOM   Kind = "oom"   // a request for memory failed
	KindNote  Kind = "note"  // a problem with watching itself, such as a lost source
	KindEnd   Kind = "end"   // the run or the watching has ended
)

// Phase is what a step did.
type Phase string

// The phases of a step.
const (
	Train Phase = "train" // an optimizer update
	Eval  Phase = "eval"  // a forward pass in evaluation mode
)

// Event is one line of a recording. Only the fields for its kind are set. Sizes are in bytes; in a field that is not
// a pointer, 0 means that the source does not report it.
type Event struct {
	T    float64 // seconds since the start
	Kind Kind    // the kind of the event
	PID  int     // start, limit, step, oom, end: the process

	Total   int64  // start: memory of the card, as PyTorch sees it
	Own     bool   // start: snug has started the run, and only processes that report are watched
	Rank    *int   // start: the process's rank in a run on several GPUs; nil if unknown
	World   int    // start: number of processes in that run
	Limit   int64  // limit: the cap
	Message string // oom, note: the text

	GPU  GPU  // gpu
	Step Step // step
}

// GPU is a sample of one card.
type GPU struct {
	Index       int       // index of the GPU in the driver's list
	Slice       *int      // the number of a MIG instance within the GPU; nil for the whole GPU
	UUID        string    // the card's unique name, if the source knows it
	Name        string    // as the driver prints it
	Used, Total int64     // bytes
	Reserved    int64     // bytes of Total reserved by the driver, if not part of Used
	Util        *float64  // percent of the time that a kernel was running
	Power       *float64  // watts
	PowerLimit  *float64  // watts
	Temperature *float64  // degrees Celsius
	Throttle    []string  // why the clocks are reduced
	Procs       []Process // processes with memory on the card
}

// Device identifies a card: a GPU, or a MIG instance of one.
type Device struct {
	Index int // index of the GPU
	Slice int // number of the MIG instance plus 1; 0 for the whole GPU
}

// Device returns the sampled card.
func (g GPU) Device() Device {
	if g.Slice == nil {
		return Device{Index: g.Index}
	}
	return Device{g.Index, *g.Slice + 1}
}

// String returns the name for people: GPU 1, or GPU 1 MIG 0.
func (d Device) String() string {
	if d.Slice == 0 {
		return fmt.Sprintf("GPU %d", d.Index)
	}
	return fmt.Sprintf("GPU %d MIG %d", d.Index, d.Slice-1)
}

// Number returns the card's number in the notation of containers: 1, or 1:0.
func (d Device) Number() string {
	if d.Slice == 0 {
		return strconv.Itoa(max(0, d.Index))
	}
	return fmt.Sprintf("%d:%d", d.Index, d.Slice-1)
}

// before reports whether a card is shown before another.
func (d Device) before(other Device) bool {
	return d.Index < other.Index || d.Index == other.Index && d.Slice < other.Slice
}

// Process is a process on a card.
type Process struct {
	PID  int    `json:"pid"`            // process ID
	Used int64  `json:"used"`           // bytes; 0 if the driver does not report it
	Name string `json:"name,omitempty"` // name of the executable

	Util *float64 `json:"gpu_util,omitempty"` // percent of recent time that its kernels were running
}

// Step is the state of PyTorch's allocator at the end of a step. Peaks are since the previous step.
type Step struct {
	N                           int      // number of the step, from 1
	Phase                       Phase    // training or evaluation
	Shape                       []int    // shape of the batch
	Allocated, Reserved         int64    // bytes at the end of the step
	PeakAllocated, PeakReserved int64    // the most bytes during the step
	Retries                     int      // times the cache was flushed to make room, since the process started
	Wait                        *float64 // seconds of this step spent waiting for data
}

// line is an event as JSON, with the fields of all kinds.
type line struct {
	T             *float64  `json:"t"`
	Kind          Kind      `json:"kind"`
	Total         *int64    `json:"total,omitempty"`
	PID           *int      `json:"pid,omitempty"`
	Own           bool      `json:"own,omitempty"`
	Rank          *int      `json:"rank,omitempty"`
	World         *int      `json:"world,omitempty"`
	Limit         *int64    `json:"limit,omitempty"`
	GPU           *int      `json:"gpu,omitempty"`
	Slice         *int      `json:"mig,omitempty"`
	UUID          string    `json:"uuid,omitempty"`
	Name          string    `json:"name,omitempty"`
	Used          *int64    `json:"used,omitempty"`
	DriverShare   *int64    `json:"driver_reserved,omitempty"`
	Util          *float64  `json:"gpu_util,omitempty"`
	Power         *float64  `json:"power_w,omitempty"`
	PowerLimit    *float64  `json:"power_limit_w,omitempty"`
	Temperature   *float64  `json:"temperature_c,omitempty"`
	Throttle      []string  `json:"throttle,omitempty"`
	Procs         []Process `json:"procs,omitempty"`
	Step          *int      `json:"step,omitempty"`
	Phase         Phase     `json:"phase,omitempty"`
	Shape         []int     `json:"shape,omitempty"`
	Allocated     *int64    `json:"allocated,omitempty"`
	Reserved      *int64    `json:"reserved,omitempty"`
	PeakAllocated *int64    `json:"peak_allocated,omitempty"`
	PeakReserved  *int64    `json:"peak_reserved,omitempty"`
	Retries       *int      `json:"retries,omitempty"`
	Wait          *float64  `json:"wait,omitempty"`
	Message       string    `json:"message,omitempty"`
}

// The fields that are read in lines of each kind, in lines of all kinds, and in a card's processes.
var (
	fieldsOf = map[Kind][]string{
		KindStart: {"total", "own", "rank", "world"},
		KindLimit: {"limit"},
		KindGPU: {
			"gpu", "mig", "uuid", "name", "used", "total", "driver_reserved", "gpu_util", "power_w", "power_limit_w", "temperature_c", "throttle", "procs",
		},
		KindStep: {"step", "phase", "shape", "allocated", "reserved", "peak_allocated", "peak_reserved", "retries", "wait"},
		KindOOM:  {"message"},
		KindNote: {"message"},
	}
	fieldsOfAll     = []string{"t", "kind", "pid"}
	fieldsOfProcess = []string{"pid", "used", "name", "gpu_util"}
)

// MarshalJSON writes the event as a line of a recording.
func (e Event) MarshalJSON() ([]byte, error) {
	t := math.Round(e.T*1e6) / 1e6
	l := line{T: &t, Kind: e.Kind, PID: given(e.PID), Message: e.Message}
	switch e.Kind {
	case KindStart:
		l.Total, l.Own, l.Rank, l.World = given(e.Total), e.Own, e.Rank, given(e.World)
	case KindLimit:
		l.Limit = &e.Limit
	case KindGPU:
		g := e.GPU
		l.GPU, l.Slice, l.UUID, l.Name, l.Used, l.Total, l.DriverShare, l.Util = &g.Index, g.Slice, g.UUID, g.Name, &g.Used, given(g.Total), given(g.Reserved), g.Util
		l.Power, l.PowerLimit, l.Temperature, l.Throttle, l.Procs = g.Power, g.PowerLimit, g.Temperature, g.Throttle, g.Procs
	case KindStep:
		s := e.Step
		l.Step, l.Phase, l.Shape, l.Retries, l.Wait = &s.N, s.Phase, s.Shape, &s.Retries, s.Wait
		l.Allocated, l.Reserved = given(s.Allocated), given(s.Reserved)
		l.PeakAllocated, l.PeakReserved = given(s.PeakAllocated), given(s.PeakReserved)
	}
	return json.Marshal(l)
}

// given returns a pointer to a number, or nil if it is 0.
func given[T int | int64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// errKind is returned for a line of an unknown kind.
var errKind = errors.New("unknown kind")

// UnmarshalJSON reads a line of a recording.
func (e *Event) UnmarshalJSON(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	*e = Event{Kind: l.Kind, PID: of(l.PID), Message: l.Message}
	if l.T != nil {
		e.T = *l.T
	}
	switch l.Kind {
	case "":
		return errors.New(`"kind" is missing`)
	case KindStart:
		e.Total, e.Own, e.Rank, e.World = of(l.Total), l.Own, l.Rank, of(l.World)
	case KindLimit:
		e.Limit = of(l.Limit)
	case KindGPU:
		e.GPU = GPU{of(l.GPU), l.Slice, l.UUID, l.Name, of(l.Used), of(l.Total), of(l.DriverShare), l.Util, l.Power, l.PowerLimit, l.Temperature, l.Throttle, l.Procs}
	case KindStep:
		if l.Step == nil {
			return errors.New(`"step" is missing`)
		}
		e.Step = Step{*l.Step, l.Phase, l.Shape, of(l.Allocated), of(l.Reserved), of(l.PeakAllocated), of(l.PeakReserved), of(l.Retries), l.Wait}
		if e.Step.Phase == "" {
			e.Step.Phase = Train
		}
	case KindOOM, KindNote, KindEnd:
	default:
		return fmt.Errorf("%w %q", errKind, l.Kind)
	}
	return e.check()
}

func of[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}

// mostBytes is more than any card has; larger numbers are mistakes.
const mostBytes = 1 << 50

// check returns an error for impossible numbers.
func (e *Event) check() error {
	s, g := &e.Step, &e.GPU
	sizes := []struct {
		name string
		n    int64
	}{
		{"total", e.Total}, {"limit", e.Limit}, {"used", g.Used}, {"total", g.Total}, {"driver_reserved", g.Reserved}, {"allocated", s.Allocated},
		{"reserved", s.Reserved}, {"peak_allocated", s.PeakAllocated}, {"peak_reserved", s.PeakReserved},
	}
	for _, x := range sizes {
		if x.n < 0 || x.n > mostBytes {
			return fmt.Errorf("%q is %d, which is not a memory size", x.name, x.n)
		}
	}
	for _, p := range g.Procs {
		if p.Used < 0 || p.Used > mostBytes {
			return fmt.Errorf("process %d uses %d bytes, which is not a memory size", p.PID, p.Used)
		}
	}
	switch {
	case math.Abs(e.T) > 1e12:
		return fmt.Errorf(`"t" is %g seconds, which is not a time`, e.T)
	case s.N < 0 || s.Retries < 0 || g.Index < 0 || g.Slice != nil && *g.Slice < 0 || e.PID < 0 || e.World < 0 || e.Rank != nil && *e.Rank < 0:
		return errors.New("a count is negative")
	case s.Phase != "" && s.Phase != Train && s.Phase != Eval:
		return fmt.Errorf(`"phase" is %q, not "train" or "eval"`, s.Phase)
	case slices.ContainsFunc(s.Shape, func(n int) bool { return n < 0 }):
		return fmt.Errorf(`"shape" is %v, but no size is negative`, s.Shape)
	}
	return nil
}
