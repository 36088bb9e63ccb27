// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"strings"

	"snug/internal/shadow/train"
)

// recordedWords returns an error if a setting of the run differs from the recordings.
func (s *Setup) recordedWords(o *object, p Recorded, name string) error {
	differs := func(field string, asked, was any, record string) error {
		return Wrong("{"+field+"} is %v, but %s was recorded with %v; record the run %s: snug profile --vary %s -- <your command>",
			asked, name, was, record, strings.Join(varied(p), " --vary "))
	}
	given := func(field string) bool { return o.keys[field] != nil }
	if !given("precision") {
		s.Precision = p.Precision
	} else if p.Precision != "" && s.Precision != p.Precision && !s.loadedIn(p.Precision) {
		return differs("precision", s.Precision, p.Precision, "in "+s.Precision)
	}
	s.Weights = "" // the weights are as recorded, and the precision shows their type
	recorded := optimizerOf(p.Optimizer)
	if !given("optimizer") {
		s.Optimizer = cmp.Or(recorded, p.Optimizer)
	} else if recorded != "" && plainOptimizer(s.Optimizer) != recorded {
		return differs("optimizer", s.Optimizer, p.Optimizer, "with "+s.Optimizer)
	}
	if p.Checkpointing != nil {
		if given("checkpointing") && s.Checkpointing != *p.Checkpointing {
			return differs("checkpointing", s.Checkpointing, *p.Checkpointing, map[bool]string{true: "with it on", false: "with it off"}[s.Checkpointing])
		}
		s.Checkpointing = *p.Checkpointing
	}
	if !given("attention") {
		s.Attention = ""
	}
	if !given("accumulation") {
		s.Accumulation = max(p.Accumulation, 1)
	}
	return nil
}

// loadedIn reports whether the profile's precision could come from weights in that type under autocast to the same
// type. A profile cannot distinguish this from a run without autocast.
func (s *Setup) loadedIn(precision string) bool {
	return s.Precision == "amp-"+precision && (s.Weights == Saved || s.Weights == precision)
}

// plainOptimizer returns an optimizer's name without its kernel variant, which the class does not show.
func plainOptimizer(name string) string {
	for _, kind := range []string{"-fused", "-loop", "-momentum", "-foreach"} {
		name = strings.TrimSuffix(name, kind)
	}
	return name
}

// optimizerOf returns the setup's name for an optimizer class, or "" for an unknown one. The class of a wrapper does
// not show what it wraps.
func optimizerOf(class string) string {
	for _, name := range train.OptimizerNames() {
		plain := plainOptimizer(name)
		if strings.EqualFold(strings.ReplaceAll(plain, "-", ""), class) {
			return plain
		}
	}
	return ""
}
