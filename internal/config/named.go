// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"snug/internal/config/doc"
)

// candidate is a value whose name says that it holds a setting.
type candidate struct {
	key   *Key
	path  doc.Path
	value doc.Value
	rank  int
}

// search finds the candidates of a source that is known by names only, if it
// holds anything telling.
func (a *Adapter) search(t tree) []candidate {
	var out []candidate
	told, values := false, 0
	ends := a.byEnd()
	t.walk(func(p doc.Path, v doc.Value) {
		values++
		parts := nameParts(p)
		if len(parts) == 0 || len(out) > mostCandidates {
			return
		}
		out = append(out, a.passed(t, p, v)...)
		keys := ends[parts[len(parts)-1]]
		if len(keys) == 0 {
			return
		}
		over := passedOver(parts)
		for _, i := range keys {
			k := &a.Keys[i]
			if over && !strings.HasPrefix(k.Setting, "eval") || k.Path == "" || !endsIn(parts, k.Path) || !k.fits(v) {
				continue
			}
			if a.For != nil && !strings.Contains(k.Path, "zero_optimization") && t.inDeepSpeed(p) {
				continue
			}
			rank := i*4 + section(parts, p)
			if worked(v) {
				rank += 4 * len(a.Keys) // better one that says something
			}
			out = append(out, candidate{k, p, v, rank})
			told = told || slices.Contains(telling, k.Setting) || a == &shell && slices.Contains([]string{"dist.world", "link"}, k.Setting)
		}
	})
	if !told {
		return nil
	}
	return out[:min(len(out), max(leastCandidates, mostLooks/values))]
}

// How many candidates there may be: more than any file has that people train from. To
// look one up takes a look at all values of its file, of which a large one has many.
const (
	mostCandidates  = 1000
	leastCandidates = 20
	mostLooks       = 2_000_000
)

// byEnd is the keys of a table by the last step of their names, in its order.
func (a *Adapter) byEnd() map[string][]int {
	out := map[string][]int{}
	for i := range a.Keys {
		name := a.Keys[i].Path
		name = name[strings.LastIndex(name, ".")+1:]
		out[name] = append(out[name], i)
	}
	return out
}

// nameParts is a path in lower case with underscores, without a flag's dashes
// and number.
func nameParts(p doc.Path) []string {
	var parts []string
	for _, step := range p {
		step, _, _ = strings.Cut(strings.TrimLeft(step, "-"), "#")
		step = strings.ReplaceAll(strings.ToLower(step), "-", "_")
		if strings.HasPrefix(step, "@") || step == "" {
			continue
		}
		parts = append(parts, strings.Split(step, ".")...)
	}
	return parts
}

// endsIn says whether a name ends in a pattern's steps.
func endsIn(parts []string, pattern string) bool {
	want := strings.Split(strings.TrimPrefix(pattern, "**."), ".")
	return len(parts) >= len(want) && slices.Equal(parts[len(parts)-len(want):], want)
}

// passedOver says whether a value belongs to something other than training.
func passedOver(parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return slices.ContainsFunc(strings.Split(part, "_"), func(w string) bool {
			switch w {
			case "eval", "val", "valid", "validation", "test", "testing", "infer", "inference", "predict", "generation", "serve", "tokenize":
				return true
			}
			return false
		})
	})
}

// section prefers values that stand where training data is described, and
// flags over the variables that feed them.
func section(parts []string, p doc.Path) int {
	if len(p) == 1 && strings.HasPrefix(p[0], "-") {
		return 0
	}
	for _, part := range parts[:len(parts)-1] {
		if strings.HasPrefix(part, "train") || strings.HasPrefix(part, "data") || strings.Contains(part, "loader") {
			return 1
		}
	}
	return 2
}

// fits says whether a value can be what a key holds at all: an optimizer may be
// a section, and its name stand in there.
func (k *Key) fits(v doc.Value) bool {
	switch v.Kind {
	case doc.Map:
		return k.Kind == Schedule || worked(v) && k.Setting != "optimizer"
	case doc.List:
		return k.Kind == Whole || k.Kind == Names
	}
	return k.Kind != Schedule
}

// bindNamed binds the best candidate of each setting. Where two are as good as
// each other neither is bound: which one is meant only the user knows.
func (s *source) bindNamed() ([]bound, error) {
	found := s.adapter.search(s.tree)
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	var out []bound
	for _, setting := range append(settingNames(), filesOwn...) {
		of := slices.DeleteFunc(slices.Clone(found), func(c candidate) bool { return c.key.Setting != setting })
		for i, c := range of {
			if i > 0 && !c.key.together() && setting != "link" {
				break
			}
			b, err := s.bound(c.key, c.path)
			if err != nil {
				return nil, err
			}
			if b == nil {
				continue
			}
			if rivals := s.rivals(of, c); len(rivals) > 0 && setting != "link" && !c.key.aside() {
				b.rivals = rivals
			}
			out = addReading(out, *b)
			more, err := s.beside(c.key, c.path)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		}
	}
	if s.tree.layers[0].doc.Format() == doc.Python {
		return s.adaptersInCode(out)
	}
	return out, nil
}

// filesOwn are the settings that only files have, beside those of a setup.
var filesOwn = []string{"link", "nodes", "lora", "autocast", "chunks", "liger.rope", "liger.norm", "liger.mlp", "liger.loss", "quantized", "packs", "refused", "noted", "allocator", "target_seq", "eval.batch", "eval.when"}

// addReading adds a binding. Where two vocabularies read one value, the first
// that knows it has it.
func addReading(out []bound, b bound) []bound {
	i := slices.IndexFunc(out, func(o bound) bool { return o.Setting == b.Setting && o.place.at.Equal(b.place.at) })
	switch {
	case i < 0:
		return append(out, b)
	case out[i].unknown != "" && b.unknown == "":
		out[i] = b
	}
	return out
}

// mostRivals is how many of them are named.
const mostRivals = 4

// rivals are the other places that have as good a claim to a setting.
func (s *source) rivals(of []candidate, c candidate) []string {
	var out []string
	mine, _ := s.tree.find(c.path)
	for _, o := range of {
		if len(out) == mostRivals {
			return append(out, "others")
		}
		if o.rank == c.rank && !o.path.Equal(c.path) {
			at, err := s.tree.find(o.path)
			if err == nil && at.value.Start == mine.value.Start && at.file == mine.file {
				continue // the same value by two ways
			}
			out = append(out, fmt.Sprintf("%s (line %d)", o.path, o.value.Line))
		}
	}
	return out
}

func settingNames() []string {
	var out []string
	for _, s := range Settings() {
		out = append(out, s.Name)
	}
	return out
}
