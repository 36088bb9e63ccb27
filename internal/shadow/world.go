// SPDX-License-Identifier: Apache-2.0

// Package shadow simulates PyTorch's eager mode without computing any values.
//
// A tensor is a shape, an element type and a reference-counted storage. Each op allocates what the CUDA
// op allocates, in the same order, and saves for backward what autograd saves. Backward walks the graph
// and frees as it goes, autocast keeps its cast cache, and checkpointing recomputes. The result is the
// stream of allocations and frees that the real run would make.
//
// Layers are in package nn; optimizers and data parallelism are in package train. Both use only what this
// package exports: Hold and Drop for lifetimes; Op, Empty and Scratch for the allocations of their own
// ops; Function for ops with a gradient; Wrap, OnGrad and OnBackward for hooks; and parameter.go for memory moved
// outside autograd.
//
// The facts are those of torch 2.11, taken from its sources and from recordings of real runs. Package kernel
// handles other versions and cards that differ. In comments, "X is Y" means that X allocates what PyTorch's Y
// allocates.
package shadow

import (
	"cmp"
	"slices"

	"snug/internal/kernel"
	"snug/internal/stream"
)

// The threads that own cuBLAS handles: the Python thread and the autograd engine's.
const (
	forwardThread = iota
	backwardThread
)

// World is one training process: all state that PyTorch keeps outside tensors and modules.
type World struct {
	Rules     kernel.Rules  // the card and the library versions
	Side      kernel.Side   // which bound to use if a kernel's needs are unknown
	Open      Open          // how much memory depends on unknown facts about the card
	Trace     *stream.Trace // receives the events
	Tags      []Tag         // one per allocation in the trace before it is unfolded; see Tag
	MaxEvents int           // limit on the events of the trace, 0 for none; beyond it ops panic with [TooLong]

	gradMode bool
	retains  bool  // the current backward keeps the graph
	onHost   bool  // tensors are made in host memory
	autocast DType // None outside torch.autocast
	casts    castCache
	hooks    *hooks
	watch    []*Tensor // every tensor made while a region recomputes
	thread   int
	queue    uint16
	spaces   workspaces

	pages       pages
	seq, stamp  uint64
	frames      []*Frame
	depth       int
	pins        []*Tensor
	path        []string
	component   Component
	afterGrad   func(leaf *Tensor)
	afterNoGrad func(leaf *Tensor)
	passage     *Passage // the passage being recorded, if any
	arrived     int      // number of gradients that arrived in the last passage
	layouts     map[*Tensor]*gradLayout
	folding     folding
	origin      []uint32 // for an unfolded trace, the ID that each allocation had before unfolding

	afterBackward func()              // called when the whole backward has run
	wrapped       map[string]Wrapper  // wrappers by module path
	reads         map[*Tensor]func()  // see OnRead
	dropoutState  bool                // the random state of recurrent layers exists
	around        map[string]Around   // functions called in place of modules, by module path
	only          *capturing          // what a call of grad needs; nil in a full backward
	gradGraph     *GradGraph          // the gradient graph that a backward makes, if any
	waiting       map[*node][]*Tensor // gradients from gradGraph, until their nodes run
	others        []*Tensor           // remaining arguments of the next module call

	// OutOfPlace keeps the engine from adding gradients in place, as under a dispatch mode that logs ops.
	OutOfPlace bool
	// Log is called with the name of each op before it allocates, for tests that compare the stream with
	// a recorded one.
	Log func(op string)
	// Meter counts the work of the run, if set.
	Meter Meter
	// Eval reports whether the model is in evaluation mode, without dropout.
	Eval bool
	// Undropped is set while the model's dropouts have a probability of 0.
	Undropped bool
	// Unadapted is set while adapters are switched off, as in PEFT's disable_adapter.
	Unadapted bool
	// Folds allows long loops to simulate only a few of their iterations: see Iterations.
	Folds bool
	// Describes makes the world keep the Form of each tensor.
	Describes bool
	// MaxIterations limits the iterations of loops that are not folded; 0 means no limit.
	MaxIterations int

	locals   []**Tensor      // variables of the current forward that checkpointed regions read
	iterated int             // iterations so far
	op       string          // the current op, if Describes is set
	forms    []Form          // the forms of all tensors, without duplicates
	formOf   map[Form]uint32 // index of each form in forms, plus one
	// Loaded is the type that a quantized model was loaded in, otherwise None. Attention casts float32 inputs to
	// it.
	Loaded DType
}

// NewWorld makes an empty process that writes to a new trace.
func NewWorld(r kernel.Rules) *World {
	w := &World{Rules: r, gradMode: true}
	if w.Trace, _ = traces.Get().(*stream.Trace); w.Trace == nil {
		w.Trace = stream.New(1 << 15)
	}
	if tags, _ := tagRooms.Get().(*[]Tag); tags != nil {
		w.Tags = *tags
	} else {
		w.Tags = make([]Tag, 0, 1<<13)
	}
	return w
}

// Expect reserves room for the current events to be repeated the given number of times.
func (w *World) Expect(times int) {
	w.Trace.Events = slices.Grow(w.Trace.Events, len(w.Trace.Events)*(times-1))
	w.Tags = slices.Grow(w.Tags, len(w.Tags)*(times-1))
}

// alloc allocates memory on the current CUDA stream.
func (w *World) alloc(bytes uint64) *storage {
	if bytes == 0 || w.onHost {
		return nil
	}
	if w.MaxEvents > 0 && len(w.Trace.Events) >= w.MaxEvents {
		panic(TooLong{})
	}
	id := w.Trace.Alloc(bytes, w.queue)
	w.Tags = append(w.Tags, Tag{Component: w.component, Path: w.modulePath()})
	m := w.pages.storages.take(&storagePages)
	m.id, m.refs, m.iteration = id, 1, w.folding.now
	w.inIteration(m.iteration)
	return m
}

// TooLong is the value that an op panics with when the trace reaches MaxEvents. That can happen in a single op: a
// kernel splits a tensor of terabytes into thousands of parts.
type TooLong struct{}

// Error returns the text.
func (TooLong) Error() string { return "the run makes too many allocations" }

// release removes one tensor from a storage, and frees the storage if it was the last. It does nothing if m is
// nil.
func (w *World) release(m *storage) {
	if m == nil {
		return
	}
	m.refs--
	if m.refs == 0 {
		w.Trace.Free(m.id)
		w.inIteration(cmp.Or(w.folding.now, m.iteration))
	}
}

// Scratch allocates and frees memory that an op needs briefly.
func (w *World) Scratch(bytes uint64) {
	w.release(w.alloc(bytes))
}

// Open records how much memory depends on unknown facts about the card: for each fact, the largest distance in bytes
// between the bounds of a figure.
type Open [kernel.Facts]uint64

// kernelBytes returns a kernel's memory. If only bounds are known, w.Side selects the bound.
func (w *World) kernelBytes(f kernel.Figure) uint64 {
	if f.Lacks != kernel.None {
		w.Open[f.Lacks] = max(w.Open[f.Lacks], f.Open())
	}
	return f.On(w.Side)
}

// kernelScratch allocates and frees the workspace of a kernel.
func (w *World) kernelScratch(f kernel.Figure) { w.Scratch(w.kernelBytes(f)) }

// Mark marks the beginning of a phase in the trace.
func (w *World) Mark(phase uint32) { w.Trace.Add(stream.Mark, phase, 0) }

// Repeat appends another copy of the events that start at index from, if they leave the state unchanged: see
// stream.Trace.Repeat.
func (w *World) Repeat(from int) bool {
	before := w.Trace.Allocations()
	if !w.Trace.Repeat(from) {
		return false
	}
	made := w.Trace.Allocations() - before
	w.Tags = append(w.Tags, w.Tags[before-made:before]...)
	return true
}

// Op dispatches an op, with PyTorch's name for it. Call it before the op allocates.
func (w *World) Op(name string) {
	w.host(HostOp)
	if w.Describes {
		w.op = name
	}
	if w.Log != nil {
		w.Log(name)
	}
}

func (w *World) modulePath() string {
	if len(w.path) == 0 {
		return ""
	}
	return w.path[len(w.path)-1]
}
