// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/setup"
	"snug/internal/shadow"
	"snug/internal/shadow/train"
	"snug/internal/stream"
)

// wrapper wraps the model in each forward pass.
type wrapper interface {
	Forward(run func() *shadow.Tensor) *shadow.Tensor
}

// distribute wraps the model in DDP, FSDP or ZeRO from package shadow/train, as the setup requires. It stores the
// optimizer's parameters in r.params and those with state on this GPU in r.mine.
func (r *run) distribute() error {
	r.params = r.builder.Trainable()
	r.mine, r.trained = r.params, r.params
	d := r.s.Dist
	if d == nil || r.calling != nil { // a script wraps its model later
		return nil
	}
	if err := r.wrap(d); err != nil {
		return err
	}
	r.w.Trace.Add(stream.EmptyCache, 0, 0) // the cache left by wrapping is emptied before training
	return nil
}

// wrap wraps the model that the run trains.
func (r *run) wrap(d *setup.Dist) error {
	if err := d.Simulated(); err != nil {
		return err
	}
	if r.s.KeepsGradients() {
		return setup.Wrong("{set_to_none} is false, but with {dist.kind} %s kept gradients are not simulated; remove it, or measure the run: snug profile -- <your command>", d.Kind)
	}
	data, shard := d.Mesh.Size(setup.Data), d.Mesh.Size(setup.Shard)
	switch r.s.DistKind() {
	case setup.DDP:
		ddp := train.NewDDP(r.builder, data, d.BucketView)
		ddp.Late = r.o.LateBuckets
		r.wrapper = ddp
	case setup.FSDP1:
		r.wrapFlat()
	case setup.FSDP2, setup.FSDP2NoReshard:
		f := train.NewFSDP(r.builder, train.Sharding{
			World: shard, Reshard: d.Kind == setup.FSDP2, Param: typeNamed(d.ParamDType), Reduce: typeNamed(d.ReduceDType),
			KeepsRoot: r.s.Loop == setup.LitGPTLoop,
		})
		r.wrapper, r.params = f, f.Shards(r.params)
		r.mine = r.params
		if r.s.HoldsGradients() {
			r.wrapper = train.Held{FSDP: f}
		}
	case setup.Zero1:
		r.mine = train.ZeroPartition(r.params, shard)
	case setup.Zero1DeepSpeed:
		z := train.NewZero1(r.builder, shard, r.groups...)
		r.wrapper, r.params, r.mine = z, z.Masters(), z.Masters()
	case setup.Zero2:
		z := train.NewZero2(r.builder, shard, r.groups...)
		r.wrapper, r.params, r.mine = z, z.Masters(), z.Masters()
	case setup.Zero3:
		z := train.NewZero3(r.builder, shard)
		r.wrapper, r.params, r.mine = z, z.Masters(), z.Masters()
	default:
		return fmt.Errorf("dist.kind %q is not known; known: %s", d.Kind, strings.Join(setup.DistKinds, ", "))
	}
	return nil
}

// wrapFlat wraps the model in FSDP1. Before transformers 4.52, checkpointing wraps a block's unit; since then it
// is inside the unit.
func (r *run) wrapFlat() {
	d := r.s.Dist
	f := train.NewFSDP1(r.builder, train.FlatSharding{
		World: d.Mesh.Size(setup.Shard), Param: typeNamed(d.ParamDType), Reduce: typeNamed(cmp.Or(d.ReduceDType, d.ParamDType)),
		Keeps: r.s.Versions.TransformersRelease() < 452, Mixes: r.s.MixesUnits(), Whole: r.s.FusesAdapters(),
	})
	if d.ParamDType != "" {
		f.Upcast()
	}
	r.wrapper, r.params = f, f.Shards()
	r.mine = r.params
	if r.s.HoldsGradients() {
		r.wrapper = train.Held1{FSDP1: f}
	}
}

// boundary tells the wrapper whether the next backward is the last one before an update, and reports whether that
// backward differs from the previous ones.
func (r *run) boundary(last bool) bool {
	z, ok := r.wrapper.(interface{ Boundary(last bool) })
	if ok {
		z.Boundary(last)
	}
	return ok && last
}

// newOptimizer makes the optimizer for the parameters that this process updates. DeepSpeed wraps it in its own
// optimizer, which uses one kernel for every kind of Adam.
func (r *run) newOptimizer() (err error) {
	name := r.s.Optimizer
	z, deepspeed := r.wrapper.(interface {
		Around(train.Optimizer) train.Optimizer
	})
	if deepspeed && (name == "" || name == "adam" || name == "adamw") {
		name = "adamw-fused"
	}
	mine := [][]*shadow.Tensor{r.mine}
	if r.script != nil && !deepspeed {
		mine = r.script.Groups(r.mine)
		r.params = slices.Concat(r.script.Groups(r.params)...)
	}
	r.opt, err = train.NewOptimizer(r.w, name, mine...)
	if err == nil && deepspeed {
		r.opt = z.Around(r.opt)
	}
	return err
}

// forward runs the model through its wrapper.
func (r *run) forward(loss func() *shadow.Tensor) *shadow.Tensor {
	if r.wrapper == nil {
		return loss()
	}
	return r.wrapper.Forward(loss)
}

// typeNamed returns the element type that a setup calls name, or None.
func typeNamed(name string) shadow.DType {
	switch name {
	case setup.FP32:
		return shadow.Float32
	case setup.BF16:
		return shadow.BFloat16
	case setup.FP16:
		return shadow.Float16
	}
	return shadow.None
}
