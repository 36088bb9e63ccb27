// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"snug/internal/setup"
)

// settings is the part of a setup that a plan may change. It is comparable, and serves as the key for stored probes.
type settings struct {
	batch, accumulation   int
	seq, targetSeq        int
	positives, negatives  int
	precision, optimizer  string
	attention, allocator  string
	checkpointing         bool
	kind                  string // kind of dist
	world                 int
	paramType, reduceType string
	load                  string // how weights are loaded
	bucketView            bool
	vocabulary, chunks    int // values of levers that the search itself never uses; 0 means unused
	lora                  adapters
	levers                leverSet // the levers from the table that are used
	seed                  int      // added to the run's own seed
	lengths               int      // index of a remedy for varying lengths, from 1; 0 means none
}

// adapters is another lever: LoRA with a given rank, as the run's library implements it.
type adapters struct {
	rank int
	Library
}

// of returns the LoRA configuration that adds these adapters to a run.
func (a adapters) of(s *setup.Setup) *setup.LoRA {
	return &setup.LoRA{Rank: a.rank, Alpha: float64(2 * a.rank), Targets: s.Model.LoRATargets(), PEFT: a.PEFT}
}

func settingsOf(s *setup.Setup) settings {
	x := settings{
		batch: s.Batch, accumulation: max(s.Accumulation, 1), seq: s.Seq, targetSeq: s.TargetSeq,
		positives: s.Positives, negatives: s.Negatives, precision: s.Precision, optimizer: s.Optimizer,
		attention: s.Attention, allocator: s.Allocator, checkpointing: s.Checkpointing, world: 1,
	}
	if d := s.Dist; d != nil {
		x.kind, x.world, x.bucketView = d.Kind, d.Mesh.Replicas(), d.BucketView
		x.paramType, x.reduceType, x.load = d.ParamDType, d.ReduceDType, d.Load
	}
	return x
}

// on returns the setup with these settings.
func (x settings) on(base *setup.Setup) *setup.Setup {
	s := *base
	s.Batch, s.Accumulation, s.Seq, s.TargetSeq = x.batch, x.accumulation, x.seq, x.targetSeq
	s.Positives, s.Negatives, s.Precision, s.Optimizer = x.positives, x.negatives, x.precision, x.optimizer
	s.Attention, s.Allocator, s.Checkpointing = x.attention, x.allocator, x.checkpointing
	s.Dist = nil
	if x.kind != "" {
		s.Dist = x.spread()
	}
	s.LossChunks = x.chunks
	x.vary(&s, base)
	if x.vocabulary > 0 {
		s.Model.Config = maps.Clone(s.Model.Config)
		s.Model.Config["vocab_size"] = float64(x.vocabulary)
	}
	if x.precision != base.Precision {
		s.Weights, s.Quantization = base.WeightsUnder(x.precision), base.QuantizationUnder(x.precision)
	}
	if x.lora.rank > 0 {
		if x.precision == base.Precision && x.lora.Precision != "" {
			s.Precision = x.lora.Precision
		}
		s.LoRA, s.Loaded, s.Loads = x.lora.of(&s), x.lora.Weights, nil
		s.Weights = s.WeightsUnder(s.Precision)
	}
	x.levers.pull(&s)
	return &s
}

// lasting returns the part of the settings that determines the size of weights, gradients and optimizer states, and
// how they are loaded.
func (x settings) lasting() settings {
	x.batch, x.accumulation, x.chunks = 0, 0, 0
	x.seq, x.targetSeq, x.positives, x.negatives = 0, 0, 0, 0
	x.attention, x.allocator, x.checkpointing = "", "", false
	x.seed, x.lengths = 0, 0
	return x
}

// loading returns the part of the settings that determines how weights are loaded onto the card. Unless they are
// sharded first, every GPU loads all of them.
func (x settings) loading() settings {
	whole := x.kind == "" || !x.spread().LoadsSharded()
	x = x.lasting()
	x.optimizer, x.reduceType, x.bucketView = "", "", false
	if whole {
		x.kind, x.world, x.load, x.paramType = "", 1, "", ""
	}
	return x
}

// effective returns the number of samples per optimizer step.
func (x settings) effective() int { return x.batch * x.accumulation * x.world }

// changes returns the number of settings that differ; batch and accumulation count as one.
func (x settings) changes(from settings) int {
	n := 0
	for _, differ := range []bool{
		x.batch != from.batch || x.accumulation != from.accumulation,
		x.seq != from.seq || x.targetSeq != from.targetSeq,
		x.positives != from.positives, x.negatives != from.negatives,
		x.precision != from.precision, x.optimizer != from.optimizer, x.attention != from.attention,
		x.allocator != from.allocator, x.checkpointing != from.checkpointing,
		x.kind != from.kind || x.world != from.world, x.shardsLater() != from.shardsLater(),
		x.lora != from.lora, x.levers != from.levers,
	} {
		if differ {
			n++
		}
	}
	return n
}

// describe describes settings x: the batch, and the differences from the settings in from.
func describe(x, from settings) string {
	parts := []string{product(x)}
	add := func(is bool, text string) {
		if is {
			parts = append(parts, text)
		}
	}
	add(x.precision != from.precision, x.precision)
	add(x.optimizer != from.optimizer, x.optimizer)
	add(x.attention != from.attention, x.attention)
	add(x.checkpointing && !from.checkpointing, "checkpointing")
	add(!x.checkpointing && from.checkpointing, "no checkpointing")
	add(x.allocator != from.allocator, cmp.Or(x.allocator, "default allocator"))
	add(x.kind != from.kind, x.kind)
	add(x.shardsLater() != from.shardsLater() && x.spread().LoadsSharded(), "loaded sharded")
	add(x.seq != from.seq, fmt.Sprintf("seq %d", x.seq))
	add(x.lora != from.lora, x.lora.String())
	for i, l := range setup.Levers() {
		add((x.levers&^from.levers)&(1<<i) != 0, l.Change)
	}
	return strings.Join(parts, ", ")
}
