// SPDX-License-Identifier: Apache-2.0

package meaning

import (
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/doc"
	"snug/internal/config/projects"
	"snug/internal/spelling"
)

// Most trainers silently ignore a misspelled key and use the default. Systems have many more keys than their
// tables here, so there is a warning only for a key that is a few letters away from one that matters, and
// only if that one is missing.

// typos lists the keys that are probably misspelled.
func (r *Run) typos() []string {
	var out []string
	for _, s := range r.boundSources() {
		out = append(out, typosIn(s)...)
	}
	return out
}

// boundSources returns the sources that contain any of the run's settings, each once.
func (r *Run) boundSources() []*projects.Source {
	var out []*projects.Source
	for _, b := range r.Bound {
		if !slices.Contains(out, b.Source) {
			out = append(out, b.Source)
		}
	}
	return out
}

// typosIn lists the probably misspelled keys of one source.
func typosIn(s *projects.Source) []string {
	if s.System.OwnProgram || s.System.Rest != nil { // any key is allowed there
		return nil
	}
	known := s.System.Keys().Names
	var out []string
	s.Tree.Walk(func(p doc.Path, v doc.Value) {
		if len(p) == 0 {
			return
		}
		section := p[:len(p)-1]
		names := known[strings.Join(section, ".")]
		if near := nearestKey(p[len(p)-1], names); near != "" && !s.Tree.Has(section.Join(near)) {
			out = append(out, fmt.Sprintf("%s:%d: %s is not a key that snug knows, and is not counted; did you mean %s?", s.File, v.Line, p, near))
		}
	})
	return out
}

// nearestKey returns the key that a name is probably a typo of; "" if it is a key itself or is close to none.
// The longer a name, the more letters may differ.
func nearestKey(got string, names []string) string {
	if slices.Contains(names, got) {
		return ""
	}
	best, least := "", 4
	for _, n := range names {
		allowed := 3
		switch {
		case len(n) < 5:
			continue
		case len(n) < 8:
			allowed = 1
		case len(n) < 14:
			allowed = 2
		}
		if apart := len(got) - len(n); apart > allowed || -apart > allowed {
			continue // the lengths differ too much
		}
		if d := spelling.Distance(got, n); d <= allowed && d < least {
			best, least = n, d
		}
	}
	return best
}

// bothPrecisions returns where bf16 and fp16 are both turned on, which trainers refuse;
// "" if they are not.
func (r *Run) bothPrecisions() string {
	var on []projects.Bound
	for _, b := range r.BindingsOf("precision") {
		if name := b.Path[len(b.Path)-1]; b.Source == r.Primary && (name == "bf16" || name == "fp16") && b.Value != nil && b.Value != "" {
			on = append(on, b)
		}
	}
	if len(on) < 2 || on[0].Value == on[1].Value {
		return ""
	}
	return fmt.Sprintf("%s and %s turn on both bf16 and fp16, which no trainer supports; keep one, or give --precision", on[0].Where(), on[1].Where())
}
