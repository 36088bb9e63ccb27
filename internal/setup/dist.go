// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The kinds of data parallelism.
const (
	DDP            = "ddp"             // DistributedDataParallel
	FSDP1          = "fsdp1"           // FullyShardedDataParallel, full shard
	FSDP2          = "fsdp2"           // fully_shard, parameters resharded after forward
	FSDP2NoReshard = "fsdp2-noreshard" // fully_shard with reshard_after_forward=False
	Zero1          = "zero1"           // PyTorch's ZeroRedundancyOptimizer
	Zero1DeepSpeed = "zero1-deepspeed" // DeepSpeed, stage 1
	Zero2          = "zero2"           // DeepSpeed, stage 2
	Zero3          = "zero3"           // DeepSpeed, stage 3
)

// How a sharded run gets its weights.
const (
	LoadWhole   = "whole"   // every GPU loads the whole model, then keeps its part
	LoadSharded = "sharded" // one unit at a time, so that no GPU ever has the whole model
)

// Loads lists the values of dist.load.
var Loads = []string{LoadWhole, LoadSharded}

// DistKinds lists the values of dist.kind.
var DistKinds = []string{DDP, FSDP1, FSDP2, FSDP2NoReshard, Zero1, Zero1DeepSpeed, Zero2, Zero3}

// kind describes a kind of data parallelism.
type kind struct {
	axis      Axis
	takes     []string // the dist fields that apply to it, besides kind and world
	deepspeed bool
	fsdp      bool
}

var kinds = map[string]kind{
	DDP:            {axis: Data, takes: []string{"bucket_view"}},
	FSDP1:          {axis: Shard, takes: []string{"param_dtype", "reduce_dtype", "load"}, fsdp: true},
	FSDP2:          {axis: Shard, takes: []string{"param_dtype", "reduce_dtype", "load"}, fsdp: true},
	FSDP2NoReshard: {axis: Shard, takes: []string{"param_dtype", "reduce_dtype", "load"}, fsdp: true},
	Zero1:          {axis: Shard},
	Zero1DeepSpeed: {axis: Shard, deepspeed: true},
	Zero2:          {axis: Shard, deepspeed: true},
	Zero3:          {axis: Shard, takes: []string{"load"}, deepspeed: true},
}

// Dist describes how the run is distributed over GPUs. Files give a kind and a number of GPUs; here these become a
// mesh along the kind's axis.
type Dist struct {
	Kind        string // one of DistKinds
	Mesh        Mesh   // number of GPUs along each axis
	BucketView  bool   // DDP's gradient_as_bucket_view
	ParamDType  string // FSDP2's param_dtype; "" keeps the weights' type
	ReduceDType string // FSDP2's reduce_dtype; "" keeps the gradients' type
	Load        string // LoadWhole or LoadSharded; "" means the kind's default
}

// Over returns a Dist of the given kind over this many GPUs.
func Over(kind string, gpus int) *Dist {
	d := &Dist{Kind: kind}
	*d.along() = gpus
	return d
}

// Axis returns the axis along which the kind places GPUs.
func (d *Dist) Axis() Axis { return kinds[d.Kind].axis }

// along returns the address of the number of GPUs along the kind's axis.
func (d *Dist) along() *int { return &d.Mesh[d.Axis()] }

// World returns the number of GPUs; 1 for a nil Dist.
func (d *Dist) World() int {
	if d == nil {
		return 1
	}
	return d.Mesh.GPUs()
}

// Simulated returns an error that says why the mesh cannot be simulated, or nil.
func (d *Dist) Simulated() error {
	if *d.along() < 1 {
		return fmt.Errorf("dist.world is %d; it must be at least 1", *d.along())
	}
	return d.Mesh.only(d.Axis())
}

// distJSON is the form of dist in files.
type distJSON struct {
	Kind        string `json:"kind"`
	World       int    `json:"world"`
	BucketView  bool   `json:"bucket_view,omitempty"`
	ParamDType  string `json:"param_dtype,omitempty"`
	ReduceDType string `json:"reduce_dtype,omitempty"`
	Load        string `json:"load,omitempty"`
}

// MarshalJSON writes the kind and the number of GPUs.
func (d *Dist) MarshalJSON() ([]byte, error) {
	return json.Marshal(distJSON{d.Kind, *d.along(), d.BucketView, d.ParamDType, d.ReduceDType, d.Load})
}

// UnmarshalJSON reads the kind and the number of GPUs.
func (d *Dist) UnmarshalJSON(data []byte) error {
	var in distJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*d = *Over(in.Kind, in.World)
	d.BucketView, d.ParamDType, d.ReduceDType, d.Load = in.BucketView, in.ParamDType, in.ReduceDType, in.Load
	return nil
}

// checkDist records an error for a field that does not belong to the kind.
func (o *object) checkDist(s *Setup) {
	d := s.Dist
	switch {
	case d.BucketView && !DistTakes(d.Kind, "bucket_view"):
		o.fail("bucket_view", " belongs to ddp, not to %s", d.Kind)
	case d.ParamDType+d.ReduceDType != "" && !DistTakes(d.Kind, "param_dtype"):
		o.fail("param_dtype", " and {dist.reduce_dtype} belong to fsdp1 and fsdp2, not to %s", d.Kind)
	case d.Load != "" && !DistTakes(d.Kind, "load"):
		o.fail("load", " belongs to fsdp1, fsdp2 and zero3, which shard weights, not to %s", d.Kind)
	}
}

// DistTakes reports whether a dist field applies to a kind.
func DistTakes(kind, field string) bool {
	switch field {
	case "bucket_view", "param_dtype", "reduce_dtype", "load":
		return slices.Contains(kinds[kind].takes, field)
	}
	return true
}

// LoadsSharded reports whether no GPU ever has the whole model during loading. By default, FSDP2 loads as it was
// measured, with the model on the GPU before fully_shard; FSDP1 as accelerate starts it, with the model on the CPU;
// and ZeRO-3 as transformers and accelerate start it, with zero.Init.
func (d *Dist) LoadsSharded() bool {
	switch {
	case d == nil || !DistTakes(d.Kind, "load"):
		return false
	case d.Load == "":
		return d.Kind == Zero3 || d.Kind == FSDP1
	}
	return d.Load == LoadSharded
}

// LoadsWhole reports whether every GPU loads all weights before the run shards them, so that loading them in parts
// would save memory.
func (d *Dist) LoadsWhole() bool {
	return d != nil && DistTakes(d.Kind, "load") && !d.LoadsSharded()
}

// HowToShard describes how to start a run of a kind so that weights are loaded in parts.
func HowToShard(kind string) string {
	switch kind {
	case Zero3:
		return "create the model under zero.Init, as from_pretrained does with ZeRO-3"
	case FSDP1:
		return "leave the model on the CPU and pass device_id to FSDP"
	}
	return "call fully_shard while the model is on the meta device or the CPU, not on the GPU"
}

// DeepSpeed reports whether the run uses DeepSpeed's ZeRO. Kind zero1 is PyTorch's own
// ZeroRedundancyOptimizer.
func (d *Dist) DeepSpeed() bool { return d != nil && kinds[d.Kind].deepspeed }

// FSDP reports whether the run uses FullyShardedDataParallel or fully_shard.
func (d *Dist) FSDP() bool { return d != nil && kinds[d.Kind].fsdp }

// firstFSDP2 is the PyTorch release that introduced torch.distributed.fsdp.fully_shard; the two releases before it
// had a prototype under a different name.
const firstFSDP2 = 206

// BeforeTorch reports whether the PyTorch version is older than a release; 206 means 2.6.
func (s *Setup) BeforeTorch(first int) bool {
	return s.Versions.Torch != "" && release(s.Versions.Torch) < first
}

// DistKind returns the kind that is simulated: FSDP1 in place of FSDP2 if the PyTorch version does not have FSDP2.
func (s *Setup) DistKind() string {
	d := s.Dist
	if d.FSDP() && d.Kind == FSDP2 && s.BeforeTorch(firstFSDP2) {
		return FSDP1
	}
	return d.Kind
}

// HoldsGradients reports whether FSDP accumulates whole gradients over a step's micro-batches and shards them after
// the last. Trainers based on accelerate do this (accelerate 1.15, accelerator.py: no_sync; transformers 5.17,
// trainer.py), and so does LitGPT (fabric.no_backward_sync).
func (s *Setup) HoldsGradients() bool {
	return s.Dist.FSDP() && s.Accumulation > 1 && (ComparesAnswers(s.Loop) || slices.Contains([]string{"trainer", "accelerate", "trl", LitGPTLoop}, s.Loop))
}

// MixesUnits reports whether FSDP1's units are the model's blocks, with trained adapters among frozen weights. The
// wrapping policies of PEFT and torchtune put adapters into separate units; LitGPT has no policy for them.
func (s *Setup) MixesUnits() bool { return s.flatAdapters() && s.Loop == LitGPTLoop }

// flatAdapters reports whether the run has adapters under FSDP1 that do not come from PEFT.
func (s *Setup) flatAdapters() bool {
	return s.Dist.FSDP() && s.DistKind() == FSDP1 && s.LoRA != nil && !s.LoRA.PEFT
}

// text describes the distribution in a phrase.
func (d *Dist) text() string { return fmt.Sprintf("%s over %d GPUs", d.Kind, d.World()) }

// cell returns the number of GPUs and the kind, for a table.
func (d *Dist) cell() string {
	if d == nil {
		return "1"
	}
	return fmt.Sprintf("%d by %s", d.World(), d.Kind)
}

// loadedText describes in a word how weights are loaded onto a GPU.
func (d *Dist) loadedText() string {
	if d.LoadsSharded() {
		return LoadSharded
	}
	return LoadWhole
}
