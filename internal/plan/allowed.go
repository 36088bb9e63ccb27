// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"snug/internal/setup"
	"snug/internal/spelling"
)

// Levers that change what is trained. A plan uses them only if --allow names them, and only as far as needed.
const (
	allowLoRA         = "lora"
	allowQuantization = "quantization"
	allowLiger        = "liger"
	allowAll          = "all"
)

// allowable returns the names that --allow accepts: fields that change what is trained, levers, all of them together,
// and fields that a plan changes anyway.
func allowable() []string {
	return append(setup.Used(setup.Allowed), allowLoRA, allowQuantization, allowLiger, allowAll)
}

// allow adds the allowed settings of a request to the rules.
func (r *rules) allow(names []string, recorded map[string]bool) error {
	anyway := setup.Used(setup.InPlan)
	for _, f := range names {
		switch {
		case recorded[f]:
			return setup.Wrong("{allow} %s: a profile covers only the recorded settings; record other values: snug profile --vary %s=N,N, or change the setting and record again", f, f)
		case f == "offload":
			return setup.Wrong("{allow} offload: offloading to the CPU is not simulated; measure it: snug profile -- <your command>")
		case f == allowAll:
			for _, x := range allowable() {
				r.allowed[x] = !r.locked[x] && !recorded[x]
			}
			continue
		case !slices.Contains(allowable(), f) && !slices.Contains(anyway, f):
			return setup.Wrong("{allow} %s: not a setting that can be allowed to change%s", f, spelling.Hint(f, allowable(), "known: "+strings.Join(allowable(), ", ")))
		case r.locked[f]:
			return setup.Wrong("%s is both locked and allowed to change; keep one of {lock} and {allow}", f)
		}
		r.allowed[f] = true
	}
	return nil
}

// levered returns sets of variants with the allowed levers, starting with those that change the least about what is
// trained. A plan for config files uses none of them, because files would need more than a changed value.
func (s *search) levered(plain []settings) [][]settings {
	if s.isRecorded() || s.rules.writable != nil {
		return nil
	}
	var out [][]settings
	for _, lora := range []bool{false, true} {
		for _, bits := range []bool{false, true} {
			for _, liger := range []bool{false, true} {
				if set := s.pulled(plain, lora, bits, liger); set != nil {
					out = append(out, set)
				}
			}
		}
	}
	return out
}

// couldAllow returns the levers that the run could use if --allow named them, starting with those that change the least
// about what is trained.
func (s *search) couldAllow() (out []string) {
	if s.isRecorded() || s.rules.writable != nil {
		return nil
	}
	for _, name := range []string{allowLiger, allowQuantization, allowLoRA} {
		other := *s
		other.rules = rules{allowed: map[string]bool{name: true}}
		is := func(x string) bool { return x == name }
		if !s.rules.allowed[name] && other.pulled([]settings{s.today}, is(allowLoRA), is(allowQuantization), is(allowLiger)) != nil {
			out = append(out, name)
		}
	}
	return out
}

// pulled returns the variants with the given levers, or nil if there are none, or if a lever is not allowed or not
// possible.
func (s *search) pulled(plain []settings, lora, bits, liger bool) []settings {
	x := plain[0]
	if lora {
		x.lora = s.adapters()
		x.lora.PEFT = x.lora.PEFT || bits // bitsandbytes weights are trained with PEFT adapters
		if !s.rules.allowed[allowLoRA] || s.base.LoRA != nil || s.base.Model.LoRATargets() == nil {
			return nil
		}
	}
	quantizes := "quantization.bits"
	if s.base.Quantization != nil {
		quantizes = "quantization.double"
	}
	for _, l := range []struct {
		wanted        bool
		allowed, name string
	}{{bits, allowQuantization, quantizes}, {liger, allowLiger, "liger"}} {
		if !l.wanted {
			continue
		}
		lever := s.leverNamed(l.name, x)
		if lever == 0 || !s.rules.allowed[l.allowed] {
			return nil
		}
		x.levers |= lever
	}
	if x == plain[0] {
		return nil
	}
	return changed(plain, func(v *settings) { v.lora, v.levers = x.lora, x.levers })
}

// leverNamed returns a setting's lever as a set. The set is empty if the run with settings x cannot use the lever.
func (s *search) leverNamed(name string, x settings) leverSet {
	at := 0
	for _, row := range setup.Settings() {
		if row.Lever == nil {
			continue
		}
		if row.Name == name && row.Lever.Can(x.on(s.base)) {
			return 1 << at
		}
		at++
	}
	return 0
}

// trained adds what the settings' levers change about a run to out, under the names of a setup's fields.
func (s *search) trained(x settings, out setup.Values) setup.Values {
	if x.lora.rank == 0 && x.levers == 0 {
		return out
	}
	y := x.on(s.base)
	if x.lora.rank > 0 {
		out = out.With("lora.rank", y.LoRA.Rank)
		if y.LoRA.PEFT {
			out = out.With("lora.peft", true)
		}
	}
	if y.Quantization != nil && s.base.Quantization == nil {
		out = out.With("quantization.bits", y.Quantization.Bits)
	}
	if q := s.base.Quantization; q != nil && y.Quantization.Double != q.Double {
		out = out.With("quantization.double", true)
	}
	if len(y.Liger) > 0 && len(s.base.Liger) == 0 {
		out = out.With("liger", y.Liger)
	}
	if y.Loss != s.base.Loss {
		out = out.With("loss", y.Loss)
	}
	return out
}
