// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"snug/internal/estimate"
	"snug/internal/setup"
	"snug/internal/units"
)

// The recommendation. order and equal in search.go define how candidates compare and when two count as equally fast.

// choice returns settings with their full estimate on this card.
func (s *search) choice(x settings) (*Choice, error) {
	c, err := s.timed(x)
	if err != nil {
		return nil, err
	}
	a, err := s.answer(x, c.seconds)
	if err != nil {
		return nil, err
	}
	if s.req.Measured != nil {
		own := *a
		own.Calibrate(*s.req.Measured)
		a = &own
	}
	out := &Choice{Settings: s.fields(x), Estimate: a, Change: describe(x, s.today), settings: x}
	if runs(a) {
		out.rate = c.rate
	}
	if s.isTimed() {
		out.SamplesPerSecond = out.rate
	}
	return out, nil
}

// fields returns settings under the names of a setup, including the type of the weights if the precision changes it.
func (s *search) fields(x settings) setup.Values {
	out := setup.Planned(x.on(s.base))
	if say := s.base.Loads[x.precision].Say; say != "" && x.precision != s.today.precision {
		out = out.With("weights", say)
	}
	return s.trained(x, out)
}

func (s *search) answer(x settings, seconds float64) (*estimate.Answer, error) {
	if s.exact {
		return s.estimate(x, s.req.Card)
	}
	return s.roughly(x, s.req.Card, s.kind, seconds)
}

// runs reports whether a run completes.
func runs(a *estimate.Answer) bool { return a.Fits == nil || *a.Fits }

// fastest returns the best choice in a room. Estimate decides whether it fits, because it runs more micro-batches
// than a probe.
func (s *search) fastest(variants []settings, r room) (*Choice, error) {
	for {
		best, err := s.best(variants, r)
		if best == nil || err != nil {
			return nil, err
		}
		c, err := s.choice(best.settings)
		if err != nil && s.drops(best.settings, err) {
			continue
		}
		if err != nil || s.inside(c, r) {
			return c, err
		}
		s.refuse(best.settings)
	}
}

func (s *search) refuse(x settings) {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	s.learned.refused[x] = true
}

func (s *search) isRefused(x settings) bool {
	s.learned.mu.Lock()
	defer s.learned.mu.Unlock()
	return s.learned.refused[x]
}

// chosen returns the recommendation: the fastest choice that fits even if its estimate is as far off as any has
// been, distributed over the GPUs if necessary, or with allowed levers; else the fastest that fits at all; else one with
// shorter lengths if they may be shortened.
func (s *search) chosen() (*Choice, error) {
	share := s.req.Goal.share()
	full, shortened := s.fallbacks()
	c, err := s.roomiest(full, room{share: share, careful: true})
	if c != nil || err != nil {
		return c, err
	}
	for i, sets := range append(full, shortened...) {
		for _, r := range []room{{share: share, careful: true}, {share: share}} {
			if r.careful && i < len(full) {
				continue // tried above
			}
			c, err := s.first(sets, r)
			if c != nil {
				c.tight = !r.careful
			}
			if c != nil || err != nil {
				return c, err
			}
		}
	}
	return nil, nil
}

// roomiest returns the first choice that the fallbacks find in a room. If that nearly fills the card and a later
// fallback finds one that leaves more free and is not much slower, it returns the later one.
func (s *search) roomiest(fallbacks [][][]settings, r room) (tight *Choice, err error) {
	most := usableShares[0]
	var of []settings
	for _, sets := range fallbacks {
		c, err := s.first(sets, r)
		if err != nil {
			return nil, err
		}
		fills := c != nil && !s.inside(c, room{share: min(most.share/(1-s.req.Margin), r.share)})
		switch {
		case c == nil:
		case tight == nil && fills:
			tight, of = c, s.set
		case tight == nil || !fills && c.rate*most.gain >= tight.rate:
			return c, nil
		}
	}
	if tight != nil {
		s.set = of
	}
	return tight, nil
}

// first returns the choice of the first set of variants that has one in a room.
func (s *search) first(sets [][]settings, r room) (*Choice, error) {
	for _, set := range sets {
		c, err := s.comfortable(set, r)
		if err != nil {
			return nil, err
		}
		if c != nil {
			s.set = set
			return c, nil
		}
	}
	return nil, nil
}

// comfortable returns the choice in a room that a careful engineer would make: not quite the fastest, if that leaves
// much more of the card free.
func (s *search) comfortable(set []settings, r room) (*Choice, error) {
	c, err := s.judged(set, r)
	if c == nil || err != nil {
		return nil, err
	}
	for _, part := range usableShares {
		share := part.share / (1 - s.req.Margin)
		if share >= r.share || s.inside(c, room{share: share}) {
			continue
		}
		other, err := s.judged(set, room{share: r.share, careful: r.careful, below: share})
		if err != nil {
			return nil, err
		}
		switch {
		case other != nil && other.rate*part.gain >= c.rate:
			c = other
		case other != nil && part.share >= nearlyFull:
			c.roomier = other
		}
	}
	return c, nil
}

// usableShares are the shares of the card that a plan may use, each with the speedup that justifies using more. Free
// memory is needed for the unexpected: a longer sample, another process, a new library release.
var usableShares = []struct{ share, gain float64 }{{0.95, 1.10}, {0.90, gain}, {0.80, 1.03}}

// nearlyFull is the share above which a choice says what one with more room would cost.
const nearlyFull = 0.90

// tightNote describes what a choice that fills the card gains over one that leaves room.
func (s *search) tightNote(c *Choice) string {
	other := c.roomier
	if other == nil || !s.isTimed() {
		return ""
	}
	return fmt.Sprintf("This leaves %v of the card free; %s would leave %v and be %.0f %% slower.",
		s.leaves(c), describe(other.settings, c.settings), s.leaves(other), 100*(1-other.rate/c.rate))
}

// allowNote names levers that may free memory, if a choice nearly fills the card and no other choice leaves more free.
func (s *search) allowNote(c *Choice) string {
	share := usableShares[0].share
	if c.roomier != nil || s.req.Goal.share() <= share || s.inside(c, room{share: share / (1 - s.req.Margin)}) {
		return ""
	}
	could := s.couldAllow()
	if len(could) == 0 {
		return ""
	}
	return fmt.Sprintf("This leaves %v of the card free; --allow %s looks for settings that leave more.", s.leaves(c), strings.Join(could, ","))
}

// leaves returns the memory that a choice leaves free.
func (s *search) leaves(c *Choice) units.Bytes {
	limit := s.reservable(c.settings, room{share: 1})
	return units.Bytes(limit - min(c.Estimate.PeakReserved, limit))
}

// judged returns the fastest choice in a room. It drops checkpointing that does not pay off, and uses a micro-batch
// that does not divide the effective batch if that is much faster.
func (s *search) judged(set []settings, r room) (*Choice, error) {
	c, err := s.fastest(set, r)
	if c == nil || err != nil {
		return nil, err
	}
	if c, err = s.worthwhile(c, set, r); err != nil {
		return nil, err
	}
	return s.rounder(c, set, r)
}

// gain is the minimum speedup for which checkpointing is turned on. A smaller speedup is within the error of the
// estimated time.
const gain = 1.05

// worthwhile returns the choice, or the best one without checkpointing if that comes close.
func (s *search) worthwhile(c *Choice, set []settings, r room) (*Choice, error) {
	if !c.settings.checkpointing || s.today.checkpointing {
		return c, nil
	}
	var plain []settings
	for _, v := range set {
		if !v.checkpointing {
			plain = append(plain, v)
		}
	}
	if len(plain) == 0 {
		return c, nil
	}
	other, err := s.fastest(plain, r)
	if err != nil || other == nil || other.rate*gain < c.rate {
		return c, err
	}
	return other, nil
}

// fallbacks lists sets of variants to try in order: first those that do not change what is trained, with the current
// kind of sharding or another; then, one by one, those to be used only if needed. Sets with shorter lengths come last.
func (s *search) fallbacks() (full, shortened [][][]settings) {
	plain := s.variants()
	same := [][]settings{plain}
	if s.emulatesBF16() && !s.rules.fixed("precision") {
		same = append(same, changed(plain, func(v *settings) { v.precision = s.today.precision }))
	}
	full = [][][]settings{append(same, s.fallbackSpreads(plain)...)}
	most := plain
	for _, set := range s.levered(plain) {
		full, most = append(full, [][]settings{set}), set
	}
	short := s.shortened(plain)
	if len(full) > 1 {
		short = append(short, s.shortened(most)...)
	}
	for _, set := range short {
		shortened = append(shortened, [][]settings{set})
	}
	return full, shortened
}

// shortened returns sets of variants in which the lengths that may be shortened are halved step by step.
func (s *search) shortened(plain []settings) [][]settings {
	var out [][]settings
	for part := 2; part <= 16; part *= 2 {
		cut := func(n int, field string) int {
			if s.rules.allowed[field] && n > 1 {
				return max(n/part, 1)
			}
			return n
		}
		next := changed(plain, func(v *settings) {
			v.negatives, v.positives = cut(v.negatives, "negatives"), cut(v.positives, "positives")
			v.seq, v.targetSeq = cut(v.seq, "seq"), cut(v.targetSeq, "seq")
		})
		if next[0] != plain[0] {
			out = append(out, next)
		}
	}
	return out
}

func changed(variants []settings, change func(v *settings)) []settings {
	out := make([]settings, len(variants))
	for i, v := range variants {
		change(&v)
		out[i] = v
	}
	return out
}

// notes lists what the user should know about a choice.
func (s *search) notes(c *Choice) []string {
	var out []string
	say := func(is bool, format string, args ...any) {
		if is {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	x := c.settings
	say(x.effective() != s.target, "%s = %d samples per step, not %d, which does not divide well.", product(x), x.effective(), s.target)
	say(s.base.TrainedHead() == "encoder" && x.batch < s.today.batch,
		"A loss with in-batch negatives compares only %d samples with each other, not %d; accumulation does not make up for that.", x.batch, s.today.batch)
	say(x.kind != s.today.kind, "%s does not fit these GPUs; %s does.", s.today.kind, x.kind)
	say(x.paramType != s.today.paramType, "FSDP gathers weights and computes in %[1]s: MixedPrecisionPolicy(param_dtype=%[1]s, reduce_dtype=%[2]s); autocast would keep a copy of every weight.", x.paramType, x.reduceType)
	say(x.lora.rank > 0, "Only adapters are trained (%v), as allowed.", x.lora)
	say(c.Estimate.Setup.Quantization != nil && s.base.Quantization == nil, "Frozen weights are quantized to 4 bits, as allowed; this needs bitsandbytes.")
	say(s.base.Quantization != nil && c.Estimate.Setup.Quantization != nil && c.Estimate.Setup.Quantization.Double != s.base.Quantization.Double,
		"The scales of the frozen weights are quantized too, as allowed (bnb_4bit_use_double_quant).")
	say(len(c.Estimate.Setup.Liger) > len(s.base.Liger), "Layers run on Liger's kernels, as allowed; this needs liger-kernel.")
	say(x.seq != s.today.seq, "Sequences are shortened from %d to %d tokens, as allowed.", s.today.seq, x.seq)
	say(x.negatives != s.today.negatives, "Negatives are reduced from %d to %d, as allowed.", s.today.negatives, x.negatives)
	say(x.positives != s.today.positives, "Positives are reduced from %d to %d, as allowed.", s.today.positives, x.positives)
	say(s.emulatesBF16() && x.precision == s.today.precision && !s.rules.fixed("precision"),
		"amp-fp16, which %s supports, keeps weights in fp32 and does not fit; %s does, but is emulated and slow.", s.req.Card.Name, x.precision)
	say(s.today.precision == setup.AmpBF16 && x.precision == setup.AmpFP16, "%s has no bf16 hardware and emulates it; fp16 needs a gradient scaler.", s.req.Card.Name)
	say(s.today.precision == setup.BF16 && x.precision == setup.AmpFP16, "%s has no bf16 hardware and emulates it; amp-fp16 keeps weights in fp32 and needs a gradient scaler.", s.req.Card.Name)
	say(s.today.precision == setup.FP32 && x.precision == setup.AmpFP16, "amp-fp16 needs a gradient scaler (torch.amp.GradScaler), which transformers' Trainer and Lightning have.")
	loaded16 := s.base.Weights != "" || s.base.Loaded == setup.Saved && isBF16(s.base.Precision)
	say(loaded16 && c.Estimate.Setup.Weights == "" && x.precision == setup.AmpFP16,
		"This requires loading the weights in float32, because a gradient scaler needs float32 weights.")
	say(!s.base.TrainsIn16Bits() && c.Estimate.Setup.TrainsIn16Bits(),
		"Weights, gradients and states change from 32 to 16 bits (%s), which loses small updates; --lock precision keeps 32 bits.", x.precision)
	if note := s.loadNote(c); note != "" {
		out = append(out, note)
	}
	mightNotFit := s.mightNotFit(c)
	say(c.tight && !mightNotFit, "It fits only without the margin for what is not known about this card and run.")
	say(mightNotFit, "It fits, but with less room than estimates like this have been wrong by: it may take up to %v.", units.Bytes(c.Estimate.Interval[1]+c.Estimate.Outside))
	for _, note := range []string{s.tightNote(c), s.allowNote(c), s.underusedNote(c)} {
		if note != "" {
			out = append(out, note)
		}
	}
	return out
}

// product returns the factors of an effective batch, such as 3 × 21 × 4.
func product(x settings) string {
	out := fmt.Sprintf("%d × %d", x.batch, x.accumulation)
	if x.world > 1 {
		out += fmt.Sprintf(" × %d", x.world)
	}
	return out
}

// mightNotFit reports whether a choice fits only if its estimate is right. Near the limit of a card PyTorch
// reserves less than on a larger card, so the upper end of the interval does not decide. Instead, the run is played
// with a limit that is lower by the possible error.
func (s *search) mightNotFit(c *Choice) bool {
	if c.Estimate.Interval[1] <= s.reservable(c.settings, room{share: 1}) {
		return false
	}
	at, err := s.timed(c.settings)
	if err != nil {
		return true
	}
	limit := s.reservable(c.settings, room{share: 1})
	more := c.Estimate.Interval[1] - c.Estimate.PeakReserved + s.possiblyMissing()
	v, err := at.probe.Within(limit-min(more, limit), c.settings.allocator)
	return err != nil || !v.Fits || v.Retries > 0
}
