// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"slices"
	"strings"

	"snug/internal/gpu"
	"snug/internal/setup"
	"snug/internal/simulate"
	"snug/internal/spelling"
)

// rules determine which settings a search may change, and to what.
type rules struct {
	locked, allowed map[string]bool
	quick           bool // only batch and accumulation may change
	gathers16       bool // FSDP already computes in 16 bits
	autocasts       bool // the program supports 16 bits only through autocast
	writable        func(setting string, value any) bool
}

// writes reports whether a setting may get a value.
func (r rules) writes(setting string, value any) bool {
	return r.writable == nil || r.writable(setting, value)
}

// readRules returns the rules of a request, or an error if its locks and allowances are wrong or contradict each
// other.
func readRules(r Request) (rules, error) {
	out := rules{locked: map[string]bool{}, allowed: map[string]bool{}, quick: r.Goal == Quick, gathers16: gathers16(r.Setup.Dist), autocasts: r.Setup.Diffuses(), writable: r.Writable}
	fields := setup.Objects() // a user may also lock fields that a plan never changes
	for _, f := range r.Lock {
		if !slices.Contains(fields, f) {
			return out, setup.Wrong("{lock} %s: no such setting%s", f, spelling.Hint(f, fields, "known: "+strings.Join(fields, ", ")))
		}
		out.locked[f] = true
	}
	recorded := lockRecorded(r.Setup, out.locked)
	if err := out.allow(r.Allow, recorded); err != nil {
		return out, err
	}
	if r.Goal != "" && !slices.Contains(Goals, r.Goal) {
		return out, setup.Wrong("{goal} %q: write throughput, balanced or quick", r.Goal)
	}
	if !(r.Margin >= 0 && r.Margin < 1) { // also false for NaN
		return out, setup.Wrong("{margin} %g: the share of the card to keep free must be at least 0 and less than 1", r.Margin)
	}
	if r.unreachable(out) {
		out.locked["precision"] = true
	}
	return out, nil
}

// unreachable reports whether none of the precisions to try can be used: each one either never trains or cannot be written
// to the run's files.
func (r Request) unreachable(rules rules) bool {
	today := r.Setup.Precision
	return !slices.ContainsFunc(rules.precisions(today, r.Card), func(precision string) bool {
		return precision == today || !r.Setup.NeverTrains(precision) && rules.writes("precision", precision)
	})
}

// lockUnwritable locks settings whose only other value cannot be written.
func (s *search) lockUnwritable() {
	if s.rules.writable == nil {
		return
	}
	x, r := s.today, s.rules
	if !r.fixed("checkpointing") && s.base.MayRecompute() && !r.writes("checkpointing", !x.checkpointing) {
		r.locked["checkpointing"] = true
	}
	if x.accumulation == 1 && s.target == x.effective() && !r.fixed("accumulation") && !r.writes("accumulation", 2) && s.todayFits() {
		r.locked["accumulation"] = true // a little speed is not worth rewriting the training loop
	}
	if to := s.attention(); to != x.attention && !r.fixed("attention") && !r.writes("attention", to) {
		r.locked["attention"] = true
	}
}

// todayFits reports whether the current run fits.
func (s *search) todayFits() bool {
	c, err := s.timed(s.today)
	if err != nil {
		return false
	}
	_, fits, err := s.placed(c, room{share: s.req.Goal.share(), careful: true})
	return fits && err == nil
}

func (r rules) fixed(field string) bool { return r.locked[field] || r.quick }

// splits lists the micro-batches to choose from: the divisors of each GPU's share of the effective batch.
func (s *search) splits() ([]int, error) {
	x, target := s.today, s.target
	if target < x.world {
		return nil, setup.Wrong("the effective batch is %d, which is less than one sample for each of %d GPUs; raise {target} or use fewer GPUs", target, x.world)
	}
	s.share = target / x.world
	batch, accumulation := s.rules.locked["batch"], s.rules.locked["accumulation"]
	switch {
	case batch && accumulation && x.effective() != target:
		return nil, locked("batch", "batch %d and accumulation %d are locked and make an effective batch of %d, not %d; unlock one or change the target",
			x.batch, x.accumulation, x.effective(), target)
	case batch && x.batch > s.share:
		return nil, locked("batch", "batch is locked at %d, more than the %d samples per GPU: the effective batch is %d on %d GPUs", x.batch, s.share, target, x.world)
	case accumulation && x.accumulation > s.share:
		return nil, locked("accumulation", "accumulation is locked at %d, more than the %d samples per GPU: the effective batch is %d on %d GPUs",
			x.accumulation, s.share, target, x.world)
	case batch:
		return []int{x.batch}, nil
	case accumulation:
		return []int{s.share / x.accumulation}, nil
	}
	return slices.DeleteFunc(divisors(s.share), func(batch int) bool { return batch > s.most() }), nil
}

// locked returns the error for a locked field that prevents a plan.
func locked(field, format string, args ...any) error {
	e := setup.Wrong(format, args...)
	e.Field = field
	return e
}

// Limits on the batches to try; no card can fit more samples or tokens.
const (
	maxSamples = 1 << 16
	maxTokens  = 1 << 27
)

// most returns the largest micro-batch worth trying.
func (s *search) most() int {
	return max(min(s.share, maxSamples, maxTokens/(max(s.today.seq, 1)*s.base.Rows())), 1)
}

// variants lists the combinations of settings other than the batch. Those without checkpointing come first, because
// they are faster if they fit. The order only saves time; order in search.go and worthwhile in choose.go decide which
// variant wins.
func (s *search) variants() []settings {
	var out []settings
	for _, checkpointing := range s.rules.checkpointing(s.base) {
		for _, precision := range s.rules.precisions(s.today.precision, s.req.Card) {
			for _, optimizer := range s.rules.optimizers(s.today) {
				v := s.today
				v.checkpointing, v.precision, v.optimizer = checkpointing, precision, optimizer
				if !s.rules.fixed("attention") {
					v.attention = s.attention()
				}
				out = append(out, v)
			}
		}
	}
	return out
}

// attention returns the attention to plan with: sdpa instead of eager attention, and of flash attention on cards
// without it, unless that changes what the model computes.
func (s *search) attention() string {
	keeps := s.base.KeepsEager()
	switch {
	case s.today.attention == setup.Eager && !keeps:
		return setup.SDPA
	case s.lacksFlash() && keeps:
		return setup.Eager
	case s.lacksFlash():
		return setup.SDPA
	}
	return s.today.attention
}

// lacksFlash reports whether the run uses flash attention but the card does not support it.
func (s *search) lacksFlash() bool {
	return s.today.attention == setup.Flash && s.req.Card.LacksFlash()
}

// neverCheckpoints reports whether the model's family does not support checkpointing at all. Other mistakes in the
// setup are left to its simulation.
func (s *search) neverCheckpoints() bool {
	if s.base.Model.Config == nil || s.isRecorded() || s.rules.fixed("checkpointing") {
		return false
	}
	x := s.split(s.today, 1)
	x.checkpointing = true
	var no *setup.FieldError
	return errors.As(simulate.Check(x.on(s.base), s.kind), &no) && no.Field == "checkpointing"
}

// checkpointing returns the values to try: both if they can be chosen. torchvision's models do not support it.
func (r rules) checkpointing(base *setup.Setup) []bool {
	if r.fixed("checkpointing") || !base.MayRecompute() {
		return []bool{base.Checkpointing}
	}
	return []bool{false, true}
}

// precisions lists the precisions that the card supports and that train the same model: fp32 may use autocast, and on
// a card without bf16, fp16 with a scaler replaces it. 16-bit weights are only for runs that have or allow them.
func (r rules) precisions(today string, card gpu.Card) []string {
	if r.fixed("precision") {
		return []string{today}
	}
	out := []string{today}
	switch {
	case isBF16(today) && !card.BF16():
		out = []string{setup.AmpFP16}
	case today == setup.FP32 && r.gathers16:
	case today == setup.FP32 && card.BF16():
		out = []string{setup.AmpBF16, today}
	case today == setup.FP32 && card.Rates.FP16 > card.Rates.FP32:
		out = []string{setup.AmpFP16, today}
	}
	if r.allowed["precision"] && card.BF16() && !r.autocasts && !slices.Contains(out, setup.BF16) {
		out = append([]string{setup.BF16}, out...)
	}
	return slices.DeleteFunc(out, func(p string) bool { return p != today && len(out) > 1 && !r.writes("precision", p) })
}

// sane reports whether a card supports the settings.
func (r rules) sane(x settings, card gpu.Card) bool {
	return r.computes(x, card) && (r.fixed("attention") || x.attention != setup.Flash || !card.LacksFlash())
}

// computes reports whether a card supports the precision of settings.
func (r rules) computes(x settings, card gpu.Card) bool {
	return r.fixed("precision") || !isBF16(x.precision) || card.BF16()
}

// emulatesBF16 reports whether the run already computes in bf16 but the card only emulates it.
func (s *search) emulatesBF16() bool { return isBF16(s.today.precision) && !s.req.Card.BF16() }

func isBF16(precision string) bool { return precision == setup.BF16 || precision == setup.AmpBF16 }

// fused maps an optimizer to its single-kernel variant, which does the same faster and with less temporary memory.
var fused = map[string]string{"adamw": "adamw-fused", "adamw-loop": "adamw-fused", "adam": "adam-fused", "adam-loop": "adam-fused"}

func (r rules) optimizers(x settings) []string {
	if r.fixed("optimizer") {
		return []string{x.optimizer}
	}
	out := []string{x.optimizer}
	if f, ok := fused[x.optimizer]; ok && !strings.HasPrefix(x.kind, "zero") && r.writes("optimizer", f) {
		out = []string{f}
	}
	if r.allowed["optimizer"] && strings.HasPrefix(x.optimizer, "adamw") && r.writes("optimizer", "adamw-8bit") {
		out = append(out, "adamw-8bit")
	}
	return out
}

const expandable = "expandable_segments:True"

// allocators returns the allocator options to try, in order.
func (r rules) allocators(base *setup.Setup) []string {
	today := base.Allocator
	if r.fixed("allocator") || strings.Contains(today, "expandable_segments") || recordedOptions(base) {
		return []string{today}
	}
	segments := strings.TrimPrefix(today+","+expandable, ",")
	if !r.writes("allocator", segments) {
		return []string{today}
	}
	return []string{today, segments}
}
