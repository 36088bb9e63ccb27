// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"snug/internal/setup"
)

// tooSmall sets the plan's Least, and lists it as rejected. It is called if nothing fits.
func (s *search) tooSmall(p *Plan) error {
	least, err := s.least()
	if err != nil {
		return err
	}
	if p.Least, err = s.choice(least.settings); err != nil {
		return err
	}
	p.Rejected = append(p.Rejected, Rejection{setup.Planned(least.on(s.base)), s.tooLarge(least), describe(least.settings, s.today)})
	return nil
}

// rescue sets the plan's Rescue if nothing fits: the few further changes that would make the run fit.
func (s *search) rescue(p *Plan) (err error) {
	if p.Recommended != nil {
		return nil
	}
	names, x := s.nearest(p.Least.settings)
	if names == nil {
		return nil
	}
	p.Rescue, p.Flags = names, s.flags(x)
	if p.Rescued, err = s.choice(x); err != nil && s.drops(x, err) {
		p.Rescue, p.Flags, p.Rescued = nil, nil, nil
		return nil
	}
	return err
}

// advisable is the largest share of a card that advice may use, if other advice uses less.
const advisable = 0.99

// advised is the room for advice to a run that does not fit. It leaves some of the card free, because advice that is
// followed and fails is worse than none.
func (s *search) advised() room {
	r := room{share: s.req.Goal.share(), careful: true}
	if most := advisable / (1 - s.req.Margin); !s.tight && most < r.share {
		r.below = most
	}
	return r
}

// nearest returns the shortest list of levers that makes settings fit with room to spare, or else at all.
func (s *search) nearest(x settings) ([]string, settings) {
	if names, y := s.onMore(x); names != nil {
		return names, y
	}
	full := *s
	full.tight = true
	return full.onMore(x)
}

// onMore returns the shortest list of levers that makes settings fit: on a few more GPUs, or else on many.
func (s *search) onMore(x settings) ([]string, settings) {
	names, y := s.shortest(x)
	if names == nil && !s.isRecorded() {
		many := *s
		many.worlds = manyMore
		names, y = many.shortest(x)
	}
	return names, y
}

// The largest factors by which a rescue may multiply the number of GPUs.
var (
	fewMore  = []int{2, 4, 8}
	manyMore = []int{16, 32, 64}
)

// least returns the variant that takes the least memory at the smallest batch, with everything that is allowed.
func (s *search) least() (candidate, error) {
	variants := s.variants()
	for _, change := range []func([]settings) [][]settings{s.levered, s.shortened} {
		if sets := change(variants); len(sets) > 0 {
			variants = sets[len(sets)-1] // the last set changes the most
		}
	}
	if !s.rules.fixed("dist") && s.today.shardsLater() {
		variants = changed(variants, (*settings).shardFirst)
	}
	for _, set := range s.fallbackSpreads(s.variants()) {
		variants = append(variants, set...)
	}
	found := make([]candidate, len(variants))
	err := each(len(variants), func(i int) (err error) {
		found[i], err = s.measured(s.split(variants[i], s.batches[0]))
		return err
	})
	if err != nil {
		return candidate{}, err
	}
	return slices.MinFunc(found, func(a, b candidate) int {
		return cmp.Compare(a.reserved, b.reserved)
	}), nil
}

// shortest returns the shortest list of levers that makes settings fit. All single levers and pairs are tried,
// starting with those that change the least about what is trained; longer lists extend the pair that takes the least
// memory. Sequences are shortened only if no pair of other levers is enough.
func (s *search) shortest(x settings) ([]string, settings) {
	levers := s.further(x)
	whole := slices.DeleteFunc(slices.Clone(levers), func(l lever) bool {
		y := x
		l.pull(&y)
		return y.seq != x.seq
	})
	if len(whole) < len(levers) {
		if names, y := s.shortestOf(x, whole, 2); names != nil {
			return names, y
		}
	}
	return s.shortestOf(x, levers, 4)
}

// shortestOf returns the shortest list of levers, up to some number of them, that makes settings fit.
func (s *search) shortestOf(x settings, levers []lever, most int) ([]string, settings) {
	var lists [][]int
	for i := range levers {
		lists = append(lists, []int{i})
	}
	for size := 1; size <= most && len(lists) > 0; size++ {
		best, at := s.tryAll(x, levers, lists)
		if at.fits {
			var names []string
			for _, i := range best {
				names = append(names, levers[i].change)
			}
			return names, at.settings
		}
		from := [][]int{best}
		if size == 1 {
			from = lists
		}
		lists = longer(from, len(levers))
	}
	return nil, x
}

type attempt struct {
	settings
	fits  bool
	takes uint64
	least bool // only a lower bound is known, and it does not fit
}

// tryAll tries each list of levers, and returns the first that fits, or else the one that takes the least memory. A
// list that cannot fit is simulated only if it might take the least memory.
func (s *search) tryAll(x settings, levers []lever, lists [][]int) ([]int, attempt) {
	tried := make([]attempt, len(lists))
	inTurn(len(lists), func(i int) bool {
		y := x
		for _, l := range lists[i] {
			levers[l].pull(&y)
		}
		tried[i] = s.try(y, true)
		return !tried[i].fits
	})
	if i := slices.IndexFunc(tried, func(t attempt) bool { return t.fits }); i >= 0 {
		return lists[i], tried[i]
	}
	for {
		i := slices.Index(tried, slices.MinFunc(tried, func(a, b attempt) int { return cmp.Compare(a.takes, b.takes) }))
		if !tried[i].least {
			return lists[i], tried[i]
		}
		tried[i] = s.try(tried[i].settings, false)
	}
}

// try returns the memory of settings. With byFloor, it returns just a lower bound if even that does not fit.
func (s *search) try(y settings, byFloor bool) attempt {
	r := s.advised()
	if byFloor && s.hopeless(y, r) {
		return attempt{settings: y, takes: s.floor(y), least: true}
	}
	c, err := s.measured(y)
	if err != nil {
		return attempt{settings: y, takes: 1 << 62}
	}
	placed, fits, _ := s.placed(c, r)
	return attempt{settings: placed.settings, fits: fits, takes: c.reserved}
}

// longer returns each list with one more lever, in order and without duplicates.
func longer(lists [][]int, n int) [][]int {
	var out [][]int
	for _, l := range lists {
		first := 0
		if len(l) == 1 {
			first = l[0] + 1 // list each pair only once
		}
		for i := first; i < n; i++ {
			if !slices.Contains(l, i) {
				out = append(out, append(slices.Clone(l), i))
			}
		}
	}
	return out
}

// further lists the levers that the search itself may not use, starting with those that change the least about what
// is trained.
func (s *search) further(x settings) []lever {
	if s.isRecorded() {
		return s.furtherRecorded(x)
	}
	var out []lever
	add := func(is bool, change string, pull func(x *settings)) {
		if is {
			out = append(out, lever{change: change, pull: pull})
		}
	}
	images, bf16 := s.base.Model.Config == nil, s.req.Card.BF16()
	add(x.batch > 1 && s.rules.locked["accumulation"], "batch 1", func(x *settings) { x.batch = 1 })
	add(x.batch > 1 && !s.rules.locked["accumulation"], "batch 1", func(x *settings) { x.accumulation, x.batch = x.accumulation*x.batch, 1 })
	add(!x.checkpointing && s.base.MayRecompute(), "checkpointing", func(x *settings) { x.checkpointing = true })
	add(fused[x.optimizer] != "", "optimizer "+fused[x.optimizer], func(x *settings) { x.optimizer = fused[x.optimizer] })
	add(x.attention == setup.Eager && !images && !s.base.KeepsEager(), "attention sdpa", func(x *settings) { x.attention = setup.SDPA })
	add(x.precision == setup.FP32 && bf16 && !s.rules.gathers16, "precision amp-bf16", func(x *settings) { x.precision = setup.AmpBF16 })
	add(x.precision == setup.FP32 && !bf16 && !s.rules.gathers16, "precision amp-fp16", func(x *settings) { x.precision = setup.AmpFP16 })
	out = append(out, s.tableLevers(false)...)
	add(s.base.TrainedHead() == "causal-lm" && s.base.Loss == "" && x.seq >= 8*lossChunks, fmt.Sprintf("loss in %d chunks", lossChunks), func(x *settings) { x.chunks = lossChunks })
	add(x.optimizer != "adamw-8bit", "optimizer adamw-8bit", func(x *settings) { x.optimizer = "adamw-8bit" })
	add(x.precision != setup.BF16 && x.precision != setup.FP16 && bf16 && !s.base.Diffuses(), "precision bf16", func(x *settings) { x.precision = setup.BF16 })
	add(s.today.precision == setup.BF16 && x.precision == setup.AmpFP16 && !bf16, "precision fp16", func(x *settings) { x.precision = setup.FP16 })
	add(s.base.LoRA == nil && x.lora.rank == 0 && s.base.Model.LoRATargets() != nil && !s.base.Diffuses(), s.adapters().String(), func(x *settings) { x.lora = s.adapters() })
	out = append(out, s.tableLevers(true)...)
	for _, part := range []int{2, 4} {
		add(x.seq >= 64*part, fmt.Sprintf("seq %d", x.seq/part), func(x *settings) { x.seq, x.targetSeq = x.seq/part, x.targetSeq/part })
	}
	kind := setup.FSDP2
	if setup.DistTakes(x.kind, "load") {
		kind = x.kind // keep the kind of a run that is already sharded
	}
	if !s.base.SpreadsBy(kind) {
		return out
	}
	add(!x.spread().LoadsSharded(), loadSharded, (*settings).shardFirst)
	for _, times := range s.worlds {
		world := times * x.world
		add(true, fmt.Sprintf("%s over %d GPUs", kind, world), func(x *settings) {
			x.accumulation = max(x.accumulation*x.world/world, 1)
			x.kind, x.world, x.bucketView = kind, world, false
		})
	}
	return out
}
