// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"

	"snug/internal/family"
	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// A script's models on several GPUs. The trained model is wrapped as in snug's own loop. TRL prepares the reference model
// for the same library, but in its own way (trl 1.16, models/utils.py: prepare_deepspeed, prepare_fsdp).

// Spread wraps the trained model for several GPUs. Its parameters are then those that the optimizer updates. Those that decays
// selects have a weight decay, and form a group of their own.
func (n *net) Spread(decays func(p *shadow.Tensor) bool) error {
	r := n.r
	if r.s.Dist == nil || n.wrapper != nil {
		return nil
	}
	r.place(n)
	was, params := r.builder, r.params
	r.builder, r.params = n.builder, n.builder.Trainable()
	r.mine, r.trained, r.groups = r.params, r.params, make([][]*shadow.Tensor, 2)
	for _, p := range r.params {
		at := 1
		if decays(p) {
			at = 0
		}
		r.groups[at] = append(r.groups[at], p)
	}
	if r.s.Dist.FSDP() && r.s.DistKind() != setup.FSDP1 && r.s.Dist.ParamDType != "" { // FSDP1's flat parameters are cast once they are made
		for _, p := range r.params {
			p.CastInPlace(shadow.Float32)
		}
	}
	err := r.wrap(r.s.Dist)
	n.wrapper = r.wrapper
	if z, ok := n.wrapper.(*train.Zero3); ok {
		z.Prefetches()
	}
	if r.s.DistKind() != setup.DDP {
		n.params = r.mine
	}
	r.builder, r.params = was, params
	return err
}

// SpreadFrozen prepares a model that is not trained for several GPUs: with ZeRO-3 and FSDP it is sharded too.
// fully_shard is then called on the model alone, not on its blocks, so that all its parameters are gathered at once.
func (n *net) SpreadFrozen() {
	r, d := n.r, n.r.s.Dist
	r.place(n)
	n.builder.FreezeAll()
	n.hooks = map[string]shadow.Wrapper{}
	world := d.Mesh.Size(setup.Shard)
	r.w.Wrapped(n.hooks, func() {
		switch r.s.DistKind() {
		case setup.Zero3:
			z := train.NewZero3Frozen(n.builder, world)
			z.Prefetches()
			n.wrapper = z
		case setup.FSDP1:
			n.wrapper = train.NewFSDP1(n.builder, train.FlatSharding{
				World: world, Param: typeNamed(d.ParamDType), Reduce: typeNamed(cmp.Or(d.ReduceDType, d.ParamDType)),
			})
		case setup.FSDP2, setup.FSDP2NoReshard:
			n.wrapper = train.NewFSDP(n.builder, train.Sharding{
				World: world, Reshard: d.Kind == setup.FSDP2, Param: typeNamed(d.ParamDType), Reduce: typeNamed(d.ReduceDType), One: true,
			})
		}
	})
}

// place casts a model to the type that DeepSpeed's engine computes in, and moves what will not be sharded to the card.
func (r *run) place(n *net) {
	if low := autocastType(r.s.Precision); r.s.Dist.DeepSpeed() && low != shadow.None {
		n.builder.Convert(low)
	}
	switch r.s.DistKind() {
	case setup.Zero3, setup.FSDP1, setup.FSDP2, setup.FSDP2NoReshard:
		for _, b := range n.builder.Buffers() {
			b.Fill()
		}
	default:
		n.builder.ToCard()
	}
}

// Around returns an optimizer of the wrapper around o: DeepSpeed has its own.
func (n *net) Around(o train.Optimizer) train.Optimizer {
	if z, ok := n.wrapper.(interface {
		Around(train.Optimizer) train.Optimizer
	}); ok {
		return z.Around(o)
	}
	return o
}

// Boundary tells the wrapper whether the next backward is the last one before an update.
func (n *net) Boundary(last bool) {
	if z, ok := n.wrapper.(interface{ Boundary(last bool) }); ok {
		z.Boundary(last)
	}
}

// Enter begins the model's forward: one with which a trainer has replaced the model's own.
func (n *net) Enter() {
	if root, ok := n.wrapper.(train.Root); ok {
		n.within(root.Enter)
		n.entered = true
	}
}

// Leave ends a forward that Enter has begun, with its result.
func (n *net) Leave(out *shadow.Tensor) {
	if root, ok := n.wrapper.(train.Root); ok {
		n.within(func() { root.Leave(out) })
		n.entered = false
	}
}

// within runs body with the model's own hooks on its modules, if it has any.
func (n *net) within(body func()) {
	if n.hooks == nil {
		body()
		return
	}
	n.r.w.Wrapped(n.hooks, body)
}

// forward runs the model through its wrapper and returns its loss, if it computes one. Without gradients, DDP does nothing.
func (n *net) forward(loss func() *shadow.Tensor, made *family.Outputs) (out *shadow.Tensor) {
	_, ddp := n.wrapper.(*train.DDP)
	root, hooked := n.wrapper.(train.Root)
	switch {
	case n.wrapper == nil || ddp && !n.r.w.GradEnabled():
		return loss()
	case n.entered:
		n.within(func() { out = loss() })
	case hooked:
		n.within(func() {
			root.Enter()
			out = loss()
			root.Leave(cmp.Or(out, made.Logits, made.Hidden))
		})
	default:
		n.wrapper.Forward(func() *shadow.Tensor {
			out = loss()
			return out
		})
	}
	return out
}

// distOf returns the kind of data parallelism that a script is told of; "" for one GPU.
func distOf(s *setup.Setup) string {
	if s.Dist == nil {
		return ""
	}
	return s.DistKind()
}
