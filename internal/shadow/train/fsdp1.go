// SPDX-License-Identifier: Apache-2.0

package train

import (
	"slices"

	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// FSDP1: FullyShardedDataParallel around each block of a model and the model itself
// (torch/distributed/fsdp, 2.11; its allocations have been the same since 2.1).
//
// The parameters of a unit are concatenated into one flat parameter, of which each process keeps its part. All of
// them have the same type and are either all trained or all frozen, so PEFT's wrapping policy makes each layer
// with trained weights its own unit. A unit is gathered into memory of a separate stream before it runs, forward
// and backward, and freed afterwards. The root keeps its parameters from forward to backward. Units that mix
// trained and frozen parameters are in fsdp1_mixed.go.

// FlatSharding is the configuration of FSDP1.
type FlatSharding struct {
	World  int          // the number of GPUs
	Param  shadow.DType // MixedPrecision's param_dtype; None keeps the type of the parameters
	Reduce shadow.DType // reduce_dtype; None means Param
	Keeps  bool         // the recomputation of a block runs through its unit's hooks, which keep the block's input
	Whole  bool         // trained parameters are ignored_modules: each process has all of them
	Mixes  bool         // use_orig_params with only blocks as units, which mix trained and frozen parameters
}

// FSDP1 is FullyShardedDataParallel around a model and its units.
type FSDP1 struct {
	w     *shadow.World
	how   FlatSharding
	units []*flatUnit // the root first, then others in the model's order
	cast  uint16      // stream of the shards in param_dtype
	full  uint16      // stream of gathered parameters and their flat gradients
	post  uint16      // the stream that reduces gradients
	order []*flatUnit // units in the order in which their first forwards ended
	kept  []*shadow.Tensor
	whole []*shadow.Tensor // trained parameters that are not sharded
	begun bool             // the first forward has begun
	holds bool             // gradients stay unsharded and are reduced in a later backward
}

// Held1 is FSDP1 with gradients reduced only in the last backward before an update. The other backwards run under
// no_sync.
type Held1 struct{ *FSDP1 }

// Boundary sets whether the next backward is the last one before an update.
func (h Held1) Boundary(last bool) { h.holds = !last }

// flatUnit is an FSDP module with its FlatParamHandle.
type flatUnit struct {
	f       *FSDP1
	root    bool
	trained bool
	members []*shadow.Tensor // the parameters that the model computes with: parts of flat
	flat    *shadow.Tensor   // the gathered flat parameter; its storage is freed and reallocated
	shard   *shadow.Tensor   // this process's part of the flat parameter
	numel   int              // elements of the flat parameter without padding
	place   int              // position in FSDP1.order, from 1; 0 before the first forward
	state   training
	needed  bool // a backward will gather it: its output required a gradient
	live    bool // the storage of flat is allocated
	watched bool // nothing is trained, so the gradient of the input releases the parameters
	arrived int  // number of members whose gradients have arrived

	held *shadow.Tensor // the unsharded flat gradient, if it is reduced in a later backward

	updated []*shadow.Tensor // trained members of a unit that also has frozen ones
	pieces  []*shadow.Tensor // parts of updated that are in shard; the optimizer updates them
}

// NewFSDP1 wraps a model: its blocks, layers with trained weights if all else is frozen, and the root.
func NewFSDP1(b *nn.Builder, how FlatSharding) *FSDP1 {
	w := b.W
	f := &FSDP1{w: w, how: how, cast: w.Trace.Queue(1), full: w.Trace.Queue(2), post: w.Trace.Queue(3)}
	root := &flatUnit{f: f, root: true}
	f.units = []*flatUnit{root}
	at := map[string]*flatUnit{"": root}
	for _, p := range f.inOrder(b) {
		if how.Whole && p.RequiresGrad() {
			p.Fill()
			f.whole = append(f.whole, p)
			continue
		}
		path := f.unitOf(b, p)
		u := at[path]
		if u == nil {
			u = &flatUnit{f: f}
			at[path] = u
			w.Wrap(path, u)
			f.units = append(f.units, u)
		}
		u.members = append(u.members, p)
	}
	for _, u := range f.units[1:] {
		u.flatten()
	}
	root.flatten()
	f.cutPieces()
	f.watch()
	return f
}

// inOrder returns the parameters in their order within flat parameters.
func (f *FSDP1) inOrder(b *nn.Builder) []*shadow.Tensor {
	if f.how.Mixes {
		return b.Parameters()
	}
	return b.ParametersInsideOut()
}

// unitOf returns the path of the unit that a parameter belongs to; "" is the root.
func (f *FSDP1) unitOf(b *nn.Builder, p *shadow.Tensor) string {
	if p.RequiresGrad() && b.Adapted() && !f.how.Mixes {
		return nn.OwnerOf(p.Name())
	}
	return b.BlockOf(p.Name())
}

// watch registers the hooks that count gradients and run at the end of the backward.
func (f *FSDP1) watch() {
	of := map[*shadow.Tensor]*flatUnit{}
	for _, u := range f.units {
		for _, p := range u.members {
			of[p] = u
		}
	}
	arrives := func(p *shadow.Tensor) {
		u := of[p]
		if u == nil {
			return // the input of a block, which is not a parameter
		}
		if u.arrived++; u.arrived == len(u.members) {
			u.postBackward()
		}
	}
	f.w.OnGrad(arrives)
	f.w.OnNoGrad(arrives)
	f.w.OnBackward(f.finish)
}

// flatten makes the flat parameter from the unit's parameters, and keeps this process's part of it.
func (u *flatUnit) flatten() {
	if len(u.members) == 0 {
		return
	}
	w, first := u.f.w, u.members[0]
	for _, p := range u.members {
		p.Fill()
		u.numel += u.room(p)
	}
	u.trained = u.mix()
	part := kernel.CeilDiv(u.numel, u.f.how.World)
	u.flat = w.Parameter(first.Name(), shadow.Dims(part*u.f.how.World), first.DType(), true)
	u.flat.Fill()
	for _, p := range u.members {
		p.ToMeta()
	}
	u.shard = w.Parameter(first.Name(), shadow.Dims(part), first.DType(), false)
	u.shard.SetTrained(u.trained)
	u.flat.SetTrained(u.trained)
	u.flat.FreeStorage()
	dt := first.DType()
	if u.f.how.Param != shadow.None {
		dt = u.f.how.Param
	}
	u.flat.Retype(dt)
	for _, p := range u.members {
		p.Retype(dt)
		p.LayInto(u.flat)
	}
}

// Upcast casts trained shards to float32, as accelerate does if mixed precision is on.
func (f *FSDP1) Upcast() {
	for _, u := range f.units {
		if u.shard != nil && u.trained {
			u.shard.CastInPlace(shadow.Float32)
		}
	}
}

// Shards returns the flat parts that the optimizer updates.
func (f *FSDP1) Shards() (out []*shadow.Tensor) {
	for _, u := range f.units {
		switch {
		case u.shard == nil || !u.trained:
		case f.how.Mixes:
			out = append(out, u.pieces...)
		default:
			out = append(out, u.shard)
		}
	}
	return append(out, f.whole...)
}

// Forward runs the root's forward around the model's.
func (f *FSDP1) Forward(run func() *shadow.Tensor) *shadow.Tensor { return around(f, run) }

// Enter begins the root's forward.
func (f *FSDP1) Enter() {
	if !f.begun {
		f.begun = true
		f.initialize()
	}
	f.forget()
	f.units[0].PreForward(nil)
}

// Leave ends the root's forward, with its result.
func (f *FSDP1) Leave(out *shadow.Tensor) { f.units[0].PostForward(out) }

// initialize is init_flat_param_attributes for each unit, in the first forward: the tensors into which parameters
// will be gathered are allocated at full size on the model's stream, and their memory is freed again.
func (f *FSDP1) initialize() {
	defer f.w.As(shadow.Parameters)()
	made := func(size shadow.Shape, dt shadow.DType) { f.w.Empty(size, dt).Hold().Drop() }
	for _, u := range f.units {
		if len(u.members) == 0 {
			continue
		}
		low, own := u.flat.DType(), u.shard.DType()
		if low != own {
			made(u.shard.Shape(), low)
		}
		made(u.flat.Shape(), low)
		if low != own {
			made(u.flat.Shape(), own)
		}
	}
}

// finish is the root's callback at the end of backward: it releases the parameters that are still gathered, and
// the hooks with the tensors they kept.
func (f *FSDP1) finish() {
	for _, u := range f.units {
		if u.arrived > 0 {
			u.postBackward()
		}
		u.reshard()
		u.state, u.watched, u.needed = idle, false, false
	}
	for _, x := range slices.Backward(f.kept) {
		x.Drop()
	}
	f.kept = f.kept[:0]
}
