// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/setup"
	"snug/internal/units"
)

// thinner lists the kinds that shard a run further, to be tried in order if it does not fit. DeepSpeed runs stay with
// DeepSpeed, because another stage is one number in its config.
var thinner = map[string][]string{
	setup.DDP: {setup.Zero1, setup.FSDP2}, setup.Zero1: {setup.FSDP2},
	setup.Zero1DeepSpeed: {setup.Zero2, setup.Zero3}, setup.Zero2: {setup.Zero3},
}

// spreads lists the kinds that are shown as levers.
var spreads = map[string][]string{
	setup.DDP:            {setup.Zero1, setup.Zero2, setup.FSDP2, setup.Zero3},
	setup.Zero1DeepSpeed: {setup.Zero2, setup.Zero3}, setup.Zero2: {setup.Zero3},
}

// spread returns the data parallelism in the settings, or nil.
func (x settings) spread() *setup.Dist {
	if x.kind == "" {
		return nil
	}
	d := setup.Over(x.kind, x.world)
	d.BucketView, d.ParamDType, d.ReduceDType = x.bucketView, x.paramType, x.reduceType
	if setup.DistTakes(x.kind, "load") {
		d.Load = x.load
	}
	return d
}

// gathers16 reports whether FSDP gathers weights and computes in 16 bits, so that autocast has nothing left to do.
func gathers16(d *setup.Dist) bool {
	return d.FSDP() && (d.ParamDType == setup.BF16 || d.ParamDType == setup.FP16)
}

// shardsLater reports whether every GPU has the whole model before it is sharded.
func (x settings) shardsLater() bool { return x.spread().LoadsWhole() }

// loadSharded is the lever that never puts the whole model on one GPU. It changes how the run starts, but nothing
// about what is trained.
const loadSharded = "load sharded"

func (x *settings) shardFirst() { x.load = setup.LoadSharded }

// fallbackSpreads returns the variants with other kinds of sharding, and then with their weights loaded in parts.
func (s *search) fallbackSpreads(plain []settings) [][]settings {
	if s.today.world < 2 || s.rules.fixed("dist") || s.base.Quantization != nil {
		return nil
	}
	sets := [][]settings{plain}
	for _, kind := range thinner[s.today.kind] {
		if s.base.SpreadsBy(kind) && s.rules.writes("dist.kind", kind) {
			sets = append(sets, s.spreadBy(kind, plain))
		}
	}
	var out [][]settings
	for i, set := range sets {
		if i > 0 {
			out = append(out, set)
		}
		if set[0].shardsLater() && s.rules.writes("dist.load", setup.LoadSharded) {
			out = append(out, changed(set, (*settings).shardFirst))
		}
	}
	return out
}

// spreadBy returns variants with another kind of sharding. Under FSDP2 its own policy replaces autocast, which would
// keep a 16-bit copy of every weight until the forward ends: weights are gathered in 16 bits, and gradients reduced
// in float32. A variant that computes in float32 is slower and takes more memory, and is omitted.
func (s *search) spreadBy(kind string, plain []settings) []settings {
	policy := false
	out := changed(plain, func(v *settings) {
		v.kind, v.bucketView = kind, false
		cast, autocast := strings.CutPrefix(v.precision, "amp-")
		if kind == setup.FSDP2 && autocast && s.rules.writes("dist.param_dtype", cast) && s.rules.writes("dist.reduce_dtype", setup.FP32) {
			v.paramType, v.reduceType, policy = cast, setup.FP32, true
		}
	})
	if !policy {
		return out
	}
	return slices.DeleteFunc(out, func(v settings) bool { return v.paramType == "" })
}

// loadNote returns a note that a choice has to be loaded in parts, or would take less memory that way.
func (s *search) loadNote(c *Choice) string {
	if !c.settings.spread().LoadsSharded() || !s.today.shardsLater() && c.settings.kind == s.today.kind {
		return ""
	}
	whole := c.settings
	whole.load = setup.LoadWhole
	p, err := s.measured(whole)
	if err != nil || p.reserved <= c.Estimate.PeakReserved {
		return ""
	}
	return fmt.Sprintf("This needs a sharded load: %[2]s. If the whole model were moved to the GPU first, it would take %[1]v.",
		units.Bytes(p.reserved+c.Estimate.Outside), setup.HowToShard(c.settings.kind))
}
