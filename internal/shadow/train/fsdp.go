// SPDX-License-Identifier: Apache-2.0

package train

import (
	"snug/internal/kernel"
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// FSDP2: fully_shard on each block of a model and then on the model itself
// (torch/distributed/fsdp/_fully_shard, 2.11).
//
// Each process keeps its part of every parameter, split along the first dimension. The parameters of a block form a
// group, and the remaining ones form the root's group. A group is gathered before its block runs, forward and
// backward, and freed afterwards. Gathering goes through one flat tensor that lives on its own CUDA stream; gradients
// are reduced into a flat tensor on another. So the model never reuses this memory. fsdp_hooks.go decides when groups
// are gathered and prefetched; fsdp_collectives.go allocates their memory. FSDP's first version is in fsdp1.go.

// Sharding is the configuration of FSDP2.
type Sharding struct {
	World     int          // the number of GPUs
	Reshard   bool         // free gathered parameters after forward
	Param     shadow.DType // type of gathered parameters; None keeps the parameters' type
	Reduce    shadow.DType // type of reduced gradients; None keeps the gradients' type
	KeepsRoot bool         // reshard_after_forward is not given, so the root keeps its parameters
	One       bool         // fully_shard is called on the model only, so all its parameters form one group
}

// FSDP is fully_shard around a model and its blocks.
type FSDP struct {
	w        *shadow.World
	how      Sharding
	groups   []*shardGroup  // the root first, then blocks in the model's order
	copyIn   uint16         // stream of the all-gather outputs
	scatter  uint16         // stream of the reduced gradients
	gathered *shadow.Tensor // gathered tensor of the last group that ran forward, kept until the next copy-out
	reducing *shadow.Tensor // input of the last reduce-scatter, kept until the next one
	order    []*shardGroup  // groups in the order in which their forwards ended
	holds    bool           // gradients stay unsharded and are reduced in a later backward
}

// Held is FSDP2 with gradients reduced only in the last backward before an update. For the other backwards accelerate
// calls set_requires_gradient_sync(False) (1.15, accelerator.py: no_sync).
type Held struct{ *FSDP }

// Boundary sets whether the next backward is the last one before an update.
func (h Held) Boundary(last bool) { h.holds = !last }

// training is a group's TrainingState.
type training uint8

const (
	idle training = iota
	inForward
	preBackward
	postBackward
)

// shardGroup is FSDPParamGroup: parameters that are gathered together.
type shardGroup struct {
	f         *FSDP
	params    []shardParam
	state     training
	backward  bool // its block's backward has begun: running forward again is recomputation
	unsharded bool
	result    *shadow.Tensor // a gather that has not been copied out yet
	places    []int          // positions in FSDP.order
}

// shardParam is FSDPParam. Full is the parameter that the model computes with;
// its storage is freed and reallocated, so tensors saved by autograd stay valid.
type shardParam struct {
	full, shard *shadow.Tensor
	sum         *shadow.Tensor // sum of unsharded gradients, if they are reduced in a type other than their own
}

// NewFSDP shards a model block by block; parameters outside blocks belong to the root.
func NewFSDP(b *nn.Builder, how Sharding) *FSDP {
	w := b.W
	f := &FSDP{w: w, how: how, copyIn: w.Trace.Queue(1), scatter: w.Trace.Queue(2)}
	root := &shardGroup{f: f}
	f.groups = []*shardGroup{root}
	blocks := map[string]*shardGroup{}
	members := map[*shardGroup][]*shadow.Tensor{}
	for _, p := range b.ParametersInsideOut() {
		g := root
		if at := b.BlockOf(p.Name()); at != "" && !how.One {
			if g = blocks[at]; g == nil {
				g = &shardGroup{f: f}
				blocks[at] = g
				w.Wrap(at, g)
				f.groups = append(f.groups, g)
			}
		}
		members[g] = append(members[g], p)
	}
	for _, g := range f.groups[1:] {
		g.shard(members[g])
	}
	root.shard(members[root])
	w.OnBackward(f.finish)
	return f
}

// shard makes the group's shards, then frees the parameters they come from.
// A model that was not on the GPU is moved there one group at a time, so at most one group is unsharded at any
// time. fully_shard does this for a model on the CPU. Filling a model on the meta device needs even less: one
// parameter (accelerate's fsdp2_load_full_state_dict) or nothing (to_empty).
func (g *shardGroup) shard(params []*shadow.Tensor) {
	w := g.f.w
	for _, p := range params {
		p.Fill()
	}
	for _, p := range params {
		size := p.Shape()
		if p.Dim() > 0 {
			size = size.With(0, kernel.CeilDiv(p.Size(0), g.f.how.World))
		}
		s := w.Parameter(p.Name(), size, p.DType(), false)
		s.SetTrained(p.RequiresGrad())
		g.params = append(g.params, shardParam{full: p, shard: s})
	}
	for _, p := range params {
		p.ToMeta()
		if g.f.how.Param != shadow.None {
			p.Retype(g.f.how.Param)
		}
	}
}

// Shards returns the tensors that the optimizer updates in place of the given parameters.
func (f *FSDP) Shards(params []*shadow.Tensor) []*shadow.Tensor {
	of := map[*shadow.Tensor]*shadow.Tensor{}
	for _, g := range f.groups {
		for _, p := range g.params {
			of[p.full] = p.shard
		}
	}
	out := make([]*shadow.Tensor, len(params))
	for i, p := range params {
		out[i] = of[p]
	}
	return out
}

// Forward runs the root's forward around the model's.
func (f *FSDP) Forward(run func() *shadow.Tensor) *shadow.Tensor { return around(f, run) }

// Enter begins the root's forward.
func (f *FSDP) Enter() { f.groups[0].PreForward(nil) }

// Leave ends the root's forward, with its result.
func (f *FSDP) Leave(out *shadow.Tensor) {
	f.groups[0].PostForward(out)
	f.gathered.Drop()
	f.gathered = nil
}

// Root has the hooks before and after a whole model's forward.
type Root interface {
	// Enter begins the forward.
	Enter()
	// Leave ends it, with its result.
	Leave(out *shadow.Tensor)
}

// around runs a model's forward between its hooks.
func around(r Root, run func() *shadow.Tensor) *shadow.Tensor {
	r.Enter()
	out := run()
	r.Leave(out)
	return out
}
