// SPDX-License-Identifier: Apache-2.0

package setup

import "strings"

// How a sharded run comes by its weights: the whole model on every GPU, which then
// keeps its part, or a unit at a time, so that no GPU ever holds all of it.
const (
	LoadWhole   = "whole"
	LoadSharded = "sharded"
)

// Loads is the words of dist.load.
var Loads = []string{LoadWhole, LoadSharded}

func (o *object) dist(s *Setup) {
	d := o.inner("dist")
	if d == nil {
		return
	}
	s.Dist = &Dist{
		Kind: d.choice("kind", "", DistKinds), World: d.whole("world", 0, 1, mostWorld), BucketView: d.flag("bucket_view", false),
		ParamDType: d.choice("param_dtype", "", shardTypes), ReduceDType: d.choice("reduce_dtype", "", shardTypes),
		Load: d.choice("load", "", Loads),
	}
	kind := s.Dist.Kind
	switch {
	case kind == "":
		d.fail("kind", " is missing; known are %s", strings.Join(DistKinds, ", "))
	case s.Dist.World == 0:
		d.fail("world", " is missing; it is the number of GPUs")
	case s.Dist.BucketView && !DistTakes(kind, "bucket_view"):
		d.fail("bucket_view", " belongs to ddp, not to %s", kind)
	case s.Dist.ParamDType+s.Dist.ReduceDType != "" && !DistTakes(kind, "param_dtype"):
		d.fail("param_dtype", " and {dist.reduce_dtype} belong to fsdp2, not to %s", kind)
	case s.Dist.Load != "" && !DistTakes(kind, "load"):
		d.fail("load", " belongs to fsdp2 and zero3, which shard weights, not to %s", kind)
	}
	o.adopt(d)
}

// DistTakes tells whether a field of dist means something for a kind.
func DistTakes(kind, field string) bool {
	fsdp := strings.HasPrefix(kind, "fsdp2")
	switch field {
	case "bucket_view":
		return kind == "ddp"
	case "param_dtype", "reduce_dtype":
		return fsdp
	case "load":
		return fsdp || kind == "zero3"
	}
	return true
}

// LoadsSharded tells whether no GPU holds the whole model while it is loaded.
// Where nothing is said, FSDP2 is as it was measured: a model on the GPU, and
// fully_shard around it. ZeRO-3 is as transformers and accelerate start it, with
// zero.Init.
func (d *Dist) LoadsSharded() bool {
	switch {
	case d == nil || !DistTakes(d.Kind, "load"):
		return false
	case d.Load == "":
		return d.Kind == "zero3"
	}
	return d.Load == LoadSharded
}

// LoadsWhole tells whether the run shards weights that every GPU first held
// whole, so that it could be loaded otherwise.
func (d *Dist) LoadsWhole() bool {
	return d != nil && DistTakes(d.Kind, "load") && !d.LoadsSharded()
}

// HowToShard is how a run of a kind is started so that weights come in parts.
func HowToShard(kind string) string {
	if kind == "zero3" {
		return "zero.Init, as from_pretrained does under ZeRO-3"
	}
	return "call fully_shard while it is on the meta device or the CPU, not on the GPU"
}

// DeepSpeed tells whether its ZeRO spreads the run. Kind zero1 is PyTorch's own
// ZeroRedundancyOptimizer.
func (d *Dist) DeepSpeed() bool {
	return d != nil && strings.HasPrefix(d.Kind, "zero") && d.Kind != "zero1"
}
