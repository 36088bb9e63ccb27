// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
)

// Value is what a setting is now, in a setup's terms, or nil where no file says
// it: an int, float64, bool, string, []string or map[string]any. Of a schedule
// it is the first phase, of several stages the one that takes the most.
func (p *Run) Value(setting string) any {
	if p.own != nil {
		if v, ok := p.own.Set[setting]; ok {
			return v
		}
	}
	switch sharded, _ := p.switches(); {
	case setting == "optimizer":
		return p.withKernel(p.bestOf(setting))
	case setting == "checkpointing" && isOn(sharded):
		return true
	}
	return p.bestOf(setting)
}

// bestOf is the value of a setting that counts among those that files hold.
func (p *Run) bestOf(setting string) any {
	var best, vague any
	neutral := false
	for _, b := range p.of(setting) {
		if yields(b) {
			continue
		}
		switch v := b.Value.(type) {
		case nil:
			continue
		case string:
			if v == Auto {
				continue
			}
			if v == "" {
				neutral = true
				continue
			}
		case []Phase:
			best = later(best, v[0].Count)
			continue
		}
		if b.key.Vague {
			vague = later(vague, b.Value)
			continue
		}
		v := b.Value
		if b.key.OverGPUs && setting != "effective" {
			if n, ok := v.(int); ok {
				v = max(n/p.world(), 1)
			}
		}
		if b.staged() {
			best = larger(best, v)
		} else {
			best = later(best, v)
		}
	}
	best = later(best, vague)
	if best == nil && neutral && setting == "precision" {
		return "fp32"
	}
	return best
}

// later keeps the first of two values: the tables and the order of the files
// say which one counts.
func later(first, v any) any {
	if first != nil {
		return first
	}
	return v
}

func larger(best, v any) any {
	a, ok := best.(int)
	b, also := v.(int)
	if ok && also {
		return max(a, b)
	}
	return later(best, v)
}

// world is how many GPUs the run has as far as its user or the files say, else 1.
func (p *Run) world() int {
	if p.gpus > 0 {
		return p.gpus
	}
	if p.own != nil {
		if v, ok := p.own.Set["dist.world"].(int); ok {
			return v
		}
	}
	if n := p.first("dist.world"); n > 0 {
		return n * max(p.first("nodes"), 1)
	}
	// DeepSpeed and Axolotl write the product of all three down.
	each := p.first("batch") * p.first("accumulation")
	if total := p.first("effective"); each > 0 && total%each == 0 {
		return max(total/each, 1)
	}
	return 1
}

// first is the first number that is bound to a setting, else 0.
func (p *Run) first(setting string) int {
	for _, b := range p.of(setting) {
		if n, ok := b.Value.(int); ok {
			return n
		}
	}
	return 0
}

// whole is a setting as a number, with the system's default where no file says
// it; 0 where nobody knows.
func (p *Run) whole(setting string) int {
	if n, ok := p.Value(setting).(int); ok {
		return n
	}
	n, _ := p.fallback(setting).(int)
	return n
}

// fallback is what the run's system takes where no key says otherwise: "auto" in
// DeepSpeed's file leaves the word to the trainer.
func (p *Run) fallback(setting string) any {
	said := slices.ContainsFunc(p.of(setting), func(b bound) bool { return (b.Value != Auto || !b.source.adapter.Tied) && !yields(b) })
	if said && setting != "precision" {
		return nil
	}
	return p.byDefault(setting)
}

// byDefault is what the run's system takes where there is no key.
func (p *Run) byDefault(setting string) any {
	for _, k := range p.system().forSetting(setting) {
		if v := keyDefault(k, p.world()); v != nil {
			if setting == "optimizer" {
				return p.withKernel(v)
			}
			return v
		}
	}
	return nil
}

// accumulation is the forwards per optimizer step: from its own key, or from
// the total batch where a system has only that.
func (p *Run) accumulation() int {
	if n := p.whole("accumulation"); n > 0 {
		return n
	}
	total, batch := p.whole("effective"), p.whole("batch")
	if total == 0 || batch == 0 {
		return 1
	}
	each := batch * p.world()
	if p.main != nil && p.main.adapter.RoundsAccumulation {
		return max((total+each/2)/each, 1)
	}
	return max(total/each, 1)
}
