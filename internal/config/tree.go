// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"snug/internal/config/doc"
	"snug/internal/pattern"
)

// A run's configuration is often not one file: Hydra composes it from a folder,
// and a value may only name another (${data.batch_size}). A tree looks like one
// document from outside, and knows for each value in which file it really
// stands: that is the one to change.

// layer is one document of a tree and the key that it is put under.
type layer struct {
	file  string
	doc   *doc.Document
	mount doc.Path
}

// tree is the layers of a configuration; later ones win.
type tree struct {
	layers []layer
	index  func() *treeIndex  // every value
	writes func() *layerIndex // which layer has the last word on a path
}

// newTree is the tree of some layers, whose values are gone through once at most.
func newTree(layers ...layer) tree {
	t := tree{layers: layers, writes: sync.OnceValue(func() *layerIndex { return layersOf(layers) })}
	t.index = sync.OnceValue(func() *treeIndex { return indexOf(t) })
	return t
}

// place is a value of a tree and where it stands.
type place struct {
	at    doc.Path // in the tree
	file  string
	path  doc.Path // in the file: the one to edit
	value doc.Value
	// through is the interpolations that led here, the first at the top.
	through []string
	// computed is an expression that only the system itself can work out.
	computed string
}

// errAbsent says that a tree has no such key.
var errAbsent = errors.New("not there")

// find is the value at a path, interpolations followed.
func (t tree) find(p doc.Path) (place, error) { return t.follow(p, nil) }

const mostHops = 16

func (t tree) follow(p doc.Path, through []string) (place, error) {
	if len(through) > mostHops {
		return place{}, fmt.Errorf("%s leads in a circle: %s", p, strings.Join(through[:3], ", "))
	}
	found, err := t.stands(p)
	if err != nil {
		return place{}, err
	}
	found.through = through
	text, _ := found.value.Data.(string)
	if found.value.Kind != doc.Text || !strings.Contains(text, "${") {
		return found, nil
	}
	name, simple := interpolated(text)
	if !simple {
		found.computed = text
		return found, nil
	}
	target, err := resolveName(p, name)
	if err != nil {
		return place{}, fmt.Errorf("%s:%d:%d: %w", found.file, found.value.Line, found.value.Column, err)
	}
	next, err := t.follow(target, append(through, text))
	if errors.Is(err, errAbsent) {
		return place{}, fmt.Errorf("%s:%d:%d: %s names %s, which is not there", found.file, found.value.Line, found.value.Column, text, target)
	}
	next.at = p
	return next, err
}

// stands is the value at a path as the last layer has it.
func (t tree) stands(p doc.Path) (place, error) { return t.standsAbove(-1, p) }

// standsAbove is the same of the layers beyond one.
func (t tree) standsAbove(i int, p doc.Path) (place, error) {
	for _, k := range t.candidates(i, p) {
		l := t.layers[k]
		if len(p) < len(l.mount) || !p[:len(l.mount)].Equal(l.mount) {
			continue
		}
		inside := p[len(l.mount):]
		v, err := l.doc.Find(inside)
		switch {
		case err == nil:
			return place{at: p, file: l.file, path: inside, value: v}, nil
		case errors.Is(err, doc.ErrNotFound):
		default:
			return place{}, err
		}
	}
	return place{}, fmt.Errorf("%s: %w", p, errAbsent)
}

// nearest is the layer that a new key goes into: the last of those that are put
// furthest down on the way to it.
func (t tree) nearest(p doc.Path) layer {
	best := t.layers[0]
	for _, l := range t.layers[1:] {
		if len(l.mount) < len(p) && p[:len(l.mount)].Equal(l.mount) && len(l.mount) >= len(best.mount) {
			best = l
		}
	}
	return best
}

// has says whether there is anything at a path. What is written twice is there:
// whoever asks for it learns why it cannot be read.
func (t tree) has(p doc.Path) bool { return t.hasAbove(-1, p) }

// hasAbove is the same of the layers beyond one.
func (t tree) hasAbove(i int, p doc.Path) bool {
	return slices.ContainsFunc(t.candidates(i, p), func(k int) bool {
		l := t.layers[k]
		return len(p) >= len(l.mount) && p[:len(l.mount)].Equal(l.mount) && l.doc.Mentions(p[len(l.mount):])
	})
}

// interpolation is OmegaConf's ${name}, alone in its value.
var interpolation = pattern.New(`^\$\{([^${}:]+)\}$`)

// interpolated is the name in a ${name}; a resolver (${oc.env:X}) or text
// around it is not simple.
func interpolated(text string) (name string, simple bool) {
	m := interpolation.Find(strings.TrimSpace(text))
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(m[1]), true
}

// resolveName is the path that an interpolation at p means: from the root, or
// with leading dots from where it stands, one for its own map and one more for
// each map further up.
func resolveName(p doc.Path, name string) (doc.Path, error) {
	rest := strings.TrimLeft(name, ".")
	up := len(name) - len(rest)
	target, err := doc.ParsePath(rest)
	if err != nil || up == 0 {
		return target, err
	}
	if up > len(p) {
		return nil, fmt.Errorf("${%s} leads out of the file", name)
	}
	return p[:len(p)-up].Join(target...), nil
}
