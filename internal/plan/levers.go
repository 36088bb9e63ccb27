// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snug/internal/setup"
	"snug/internal/units"
)

// lever is a possible change to the current settings. Levers from the table of settings are in setup/table.go
// (lever_set.go), others here (pullable), in spread.go and in rescue.go (further).
type lever struct {
	change string
	price  string // cost besides time, or ""
	pull   func(x *settings)
}

// levers simulates each lever alone, on the current settings, and ranks those that save memory. It also returns those
// that the model does not support, with the reasons.
func (s *search) levers() ([]Lever, []Rejection, error) {
	today, err := s.measured(s.today)
	if err != nil {
		return nil, nil, err
	}
	pulls := s.pullable()
	found := make([]Lever, len(pulls))
	fails := make([]error, len(pulls))
	_ = each(len(pulls), func(i int) error {
		found[i], fails[i] = s.saving(today, pulls[i])
		return nil
	})
	out := []Lever{}
	for _, l := range found {
		if float64(l.Saves) >= worthNaming*float64(today.reserved) {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b Lever) int { return cmp.Compare(b.Saves, a.Saves) })
	return out, s.impossible(pulls, fails), nil
}

// worthNaming is the share of a run's memory that a lever has to save to be listed.
const worthNaming = 0.001

// impossible lists the levers that cannot be simulated. Levers with the same reason are combined into one rejection.
func (s *search) impossible(pulls []lever, fails []error) []Rejection {
	var out []Rejection
	for i, err := range fails {
		if err == nil {
			continue
		}
		why := reason(err)
		if at := slices.IndexFunc(out, func(r Rejection) bool { return r.Why == why }); at >= 0 {
			out[at].Change += ", " + pulls[i].change
			continue
		}
		x := s.today
		pulls[i].pull(&x)
		out = append(out, Rejection{setup.Planned(x.on(s.base)), why, pulls[i].change})
	}
	return out
}

// reason returns an error without the name of its field, which is shown next to it. The text comes from setup.Wrong
// in simulate or setup, or from a Refusal of the family.
func reason(err error) string {
	var field *setup.FieldError
	if errors.As(err, &field) {
		return strings.TrimPrefix(field.Error(), field.Field+": ")
	}
	return err.Error()
}

// saving returns the memory that a lever saves, or an error if the model does not support it.
func (s *search) saving(today candidate, l lever) (Lever, error) {
	x := s.today
	l.pull(&x)
	c, err := s.measured(x)
	if err != nil {
		return Lever{}, err
	}
	before, after := today.reserved, c.reserved
	if x.allocator != s.today.allocator {
		if after, err = c.probe.Under(x.allocator); err != nil {
			return Lever{}, err
		}
	}
	if after >= before {
		return Lever{}, nil
	}
	price := l.price
	if limit := s.reservable(x, room{share: 1}); after > limit {
		v, err := c.probe.Within(limit, x.allocator)
		if err != nil {
			return Lever{}, err
		}
		if v.Fits {
			price = strings.TrimPrefix(price+"; fits because PyTorch empties its cache", "; ")
		}
	}
	return Lever{Change: l.change, Saves: before - after, Costs: s.costs(today, c, price)}, nil
}

// emptiesNote explains savings that exceed the difference between two runs' figures: close to the limit, PyTorch empties
// its cache, and a run takes less than it would with more memory. Savings are computed without the limit.
func (s *search) emptiesNote(p *Plan) (string, error) {
	today, err := s.measured(s.today)
	now := p.Current.Estimate
	if err != nil || len(p.Levers) == 0 || !runs(now) || today.reserved <= max(now.PeakReserved, s.reservable(s.today, room{share: 1})) {
		return "", err
	}
	return fmt.Sprintf("The current run fits because PyTorch empties its cache; with more memory it would reserve %v, not %v. The levers' savings are relative to the larger figure.",
		units.Bytes(today.reserved), units.Bytes(now.PeakReserved)), nil
}

// noticeable is the smallest difference in speed that is shown; a smaller one rounds to 0 %.
const noticeable = 0.005

// costs describes how much slower or faster a lever makes the run, as a share of the current speed, and its other
// costs.
func (s *search) costs(today, c candidate, price string) string {
	time := "no extra time"
	switch share := c.rate/today.rate - 1; {
	case !s.isTimed() && share != 0:
		time = "unknown time"
	case share <= -noticeable:
		time = fmt.Sprintf("%.0f %% slower", -100*share)
	case share >= noticeable:
		time = fmt.Sprintf("%.0f %% faster", 100*share)
	}
	if price != "" {
		return time + "; " + price
	}
	return time
}

// pullable returns the levers that make sense for the current run, with their texts.
func (s *search) pullable() []lever {
	x, base := s.today, s.base
	var out []lever
	add := func(is bool, change, price string, pull func(x *settings)) {
		if is {
			out = append(out, lever{change, price, pull})
		}
	}
	images := base.Model.Config == nil
	bf16 := s.req.Card.BF16() && !s.isRecorded()
	halves := x.batch > 1 && x.batch%2 == 0 && base.Model.Varies("batch")
	add(halves && s.rules.locked["accumulation"], fmt.Sprintf("batch %d", x.batch/2), "half the effective batch", func(x *settings) { x.batch /= 2 })
	add(halves && !s.rules.locked["accumulation"], fmt.Sprintf("batch %d, accumulation %d", x.batch/2, 2*x.accumulation), "",
		func(x *settings) { x.batch, x.accumulation = x.batch/2, 2*x.accumulation })
	add(x.precision == setup.FP32 && bf16 && !s.rules.gathers16, "precision amp-bf16", "activations in 16 bits", func(x *settings) { x.precision = setup.AmpBF16 })
	add(x.precision == setup.FP32 && !bf16 && !s.rules.gathers16 && !s.isRecorded(), "precision amp-fp16", "needs a gradient scaler", func(x *settings) { x.precision = setup.AmpFP16 })
	add(x.precision != setup.BF16 && x.precision != setup.FP16 && bf16 && !base.Diffuses(), "precision bf16", s.price16(),
		func(x *settings) { x.precision = setup.BF16 })
	add(!x.checkpointing && s.base.MayRecompute(), "checkpointing", "", func(x *settings) { x.checkpointing = true })
	add(fused[x.optimizer] != "" && !s.isRecorded(), "optimizer "+fused[x.optimizer], "", func(x *settings) { x.optimizer = fused[x.optimizer] })
	add(strings.HasPrefix(x.optimizer, "adamw") && x.optimizer != "adamw-8bit" && !s.isRecorded(), "optimizer adamw-8bit", "8-bit states; needs bitsandbytes",
		func(x *settings) { x.optimizer = "adamw-8bit" })
	add(x.attention == setup.Eager && !images && !base.KeepsEager(), "attention sdpa", "", func(x *settings) { x.attention = setup.SDPA })
	add(x.attention != setup.Flash && x.precision != setup.FP32 && s.req.Card.Flash() && !images && !base.Diffuses(), "attention flash", "needs flash-attn installed",
		func(x *settings) { x.attention = setup.Flash })
	add(base.TrainedHead() == "causal-lm" && base.Loss == "" && x.seq >= 8*lossChunks, fmt.Sprintf("loss in %d chunks", lossChunks), "needs a custom loss function",
		func(x *settings) { x.chunks = lossChunks })
	out = append(out, s.tableLevers(false)...)
	add(hasVocabulary(base), fmt.Sprintf("a vocabulary of %d", smallVocabulary), "a different tokenizer; embeddings are retrained",
		func(x *settings) { x.vocabulary = smallVocabulary })
	add(base.LoRA == nil && base.Model.LoRATargets() != nil && !base.Diffuses(), s.adapters().String(), "only adapters are trained",
		func(x *settings) { x.lora = s.adapters() })
	out = append(out, s.tableLevers(true)...)
	add(x.negatives > 1 && base.Model.Varies("negatives"), fmt.Sprintf("negatives %d", x.negatives/2), "fewer comparisons per anchor", func(x *settings) { x.negatives /= 2 })
	add(!strings.Contains(x.allocator, "expandable") && !recordedOptions(base), "allocator "+expandable, "",
		func(x *settings) { x.allocator = strings.TrimPrefix(x.allocator+","+expandable, ",") })
	out = append(out, s.lengthLevers()...)
	add(x.shardsLater() && !s.isRecorded(), loadSharded, setup.HowToShard(x.kind), (*settings).shardFirst)
	for _, kind := range spreads[x.kind] {
		add(x.world > 1 && !s.isRecorded() && base.SpreadsBy(kind), fmt.Sprintf("%s over %d GPUs", kind, x.world), "more traffic between GPUs",
			func(x *settings) { x.kind, x.bucketView = kind, false })
	}
	return out
}

// lossChunks is the number of sequence chunks in which the loss is computed.
const lossChunks = 8

// smallVocabulary is the size of a tokenizer trained on the user's own texts.
const smallVocabulary = 10_000

// hasVocabulary reports whether a smaller vocabulary is a lever. With adapters it is not, because they need the
// model as it was trained.
func hasVocabulary(s *setup.Setup) bool {
	head := s.TrainedHead()
	if s.Model.Config == nil || s.LoRA != nil || s.Quantization != nil || head == "encoder" || strings.HasSuffix(head, "-classification") {
		return false
	}
	v, given := s.Model.Config["vocab_size"].(float64)
	return !given || v > 2*smallVocabulary
}

// usualRank is the rank of the LoRA lever.
const usualRank = 16

// adapters returns the LoRA adapters that a run could have.
func (s *search) adapters() adapters { return adapters{usualRank, s.req.Library} }

// String names PEFT if it makes the adapters, because they then take more memory.
func (a adapters) String() string {
	if a.PEFT {
		return fmt.Sprintf("PEFT's LoRA of rank %d", a.rank)
	}
	return fmt.Sprintf("LoRA of rank %d", a.rank)
}

// price16 returns the cost of 16-bit weights. Adapters are trained in float32 next to them.
func (s *search) price16() string {
	if s.base.LoRA != nil && s.base.LoRA.PEFT {
		return "frozen weights and activations in 16 bits"
	}
	return "16-bit weights and states lose small updates"
}
