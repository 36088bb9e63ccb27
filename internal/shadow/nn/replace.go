// SPDX-License-Identifier: Apache-2.0

package nn

import (
	"slices"
	"strings"

	"snug/internal/shadow"
)

// Replace replaces the parameters at a path with those of a new module. moved returns the new paths of existing
// modules that the new one contains. Replace returns the parameters that the model no longer has; the caller owns
// them.
func (b *Builder) Replace(path string, parts []shadow.NamedTensor, moved func(path string) (string, bool)) (gone []*shadow.Tensor) {
	inside := func(t *shadow.Tensor) bool { return strings.HasPrefix(t.Name(), path+".") }
	had := slices.DeleteFunc(slices.Clone(b.made), func(t *shadow.Tensor) bool { return !inside(t) })
	fresh := b.taken(path, parts, had)
	b.all = spliced(b.all, had, fresh)
	b.made = spliced(b.made, had, fresh)
	b.moveLayers(path, moved)
	for _, t := range had {
		if !slices.Contains(fresh, t) {
			gone = append(gone, t)
		}
	}
	return gone
}

// taken returns the new module's parameters, renamed to their paths in the model. It adds a reference to those that
// the model does not have yet, and omits those that also belong to another module.
func (b *Builder) taken(path string, parts []shadow.NamedTensor, had []*shadow.Tensor) (fresh []*shadow.Tensor) {
	for _, p := range parts {
		own := slices.Contains(had, p.Of)
		if !own && slices.Contains(b.all, p.Of) || slices.Contains(fresh, p.Of) {
			continue
		}
		if !own {
			p.Of.Hold()
		}
		p.Of.Rename(path + "." + p.Name)
		fresh = append(fresh, p.Of)
	}
	return fresh
}

// spliced returns ts with old replaced by fresh, or with fresh appended if ts contains none of old.
func spliced(ts, old, fresh []*shadow.Tensor) []*shadow.Tensor {
	at := slices.IndexFunc(ts, func(t *shadow.Tensor) bool { return slices.Contains(old, t) })
	if at < 0 {
		return append(slices.Clip(ts), fresh...)
	}
	rest := slices.DeleteFunc(slices.Clone(ts[at:]), func(t *shadow.Tensor) bool { return slices.Contains(old, t) })
	return slices.Concat(ts[:at], fresh, rest)
}

// moveLayers updates the paths of layers inside a replaced module, and forgets those that are gone.
func (b *Builder) moveLayers(path string, moved func(path string) (string, bool)) {
	b.layers = slices.DeleteFunc(slices.Clone(b.layers), func(m any) bool {
		at := pathOf(m)
		if at == nil || !shadow.Within(string(*at), path) {
			return false
		}
		to, kept := moved(string(*at))
		if kept {
			*at = shadow.Path(to)
		}
		return !kept
	})
	for i, t := range b.tied {
		if to, kept := moved(t.At); kept && shadow.Within(t.At, path) {
			b.tied[i].At = to
		}
	}
}

// pathOf returns a pointer to a layer's path, or nil for a buffer.
func pathOf(layer any) *shadow.Path {
	switch l := layer.(type) {
	case *Linear:
		return &l.Path
	case *Embedding:
		return &l.Path
	}
	return nil
}
