// SPDX-License-Identifier: Apache-2.0

// Package tree combines several documents into one configuration.
//
// A run's configuration is often more than one file: Hydra composes it from a folder, and a value may refer
// to another (${data.batch_size}). A tree is read like one document. For each value it also records the file
// that the value comes from, which is the one to change.
package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"snug/internal/config/doc"
)

// Layer is one document of a tree and the key that it is mounted at.
type Layer struct {
	File  string        // the document's file name
	Doc   *doc.Document // the document itself
	Mount doc.Path      // the key that the document is mounted at; nil for the root
	// FlagsOnly means that the document is a module with a program's argument parser, and only the flags it
	// declares count.
	FlagsOnly bool
}

// counts reports whether a path of the document belongs to the tree.
func (l Layer) counts(p doc.Path) bool {
	return !l.FlagsOnly || len(p) > 0 && strings.HasPrefix(p[len(p)-1], "-")
}

// Tree contains the layers of a configuration; later layers take precedence. See interpolation.go for ${...}.
type Tree struct {
	Layers      []Layer            // the first is the main document
	Renamed     map[string]string  // the program's own flag names, and the usual names of those settings
	Index       func() *Index      // every value
	lastWriters func() *layerIndex // the layer that sets each path
}

// New returns a tree of layers. Its indexes are built at most once.
func New(layers ...Layer) Tree {
	t := Tree{Layers: layers, lastWriters: sync.OnceValue(func() *layerIndex { return newLayerIndex(layers) })}
	t.Index = sync.OnceValue(func() *Index { return newIndex(t) })
	return t
}

// Place is a value in a tree and its position.
type Place struct {
	At    doc.Path  // in the tree
	File  string    // the file that contains the value
	Path  doc.Path  // the path to edit, in the file
	Value doc.Value // with interpolations followed
	// Through lists the interpolations that were followed, in order.
	Through []string
	// Computed is an expression that only the system itself can evaluate.
	Computed string
}

// ErrAbsent means that a tree has no such key.
var ErrAbsent = errors.New("missing")

// Find returns the value at a path, following interpolations.
func (t Tree) Find(p doc.Path) (Place, error) { return t.follow(p, nil) }

const maxHops = 16

func (t Tree) follow(p doc.Path, through []string) (Place, error) {
	if len(through) > maxHops {
		return Place{}, fmt.Errorf("%s forms a cycle: %s", p, strings.Join(through[:3], ", "))
	}
	found, err := t.LastSet(p)
	if err != nil {
		return Place{}, err
	}
	found.Through = through
	text, _ := found.Value.Data.(string)
	if found.Value.Kind != doc.Text || !strings.Contains(text, "${") {
		return found, nil
	}
	name, simple := interpolated(text)
	if !simple {
		found.Computed = text
		return found, nil
	}
	target, err := resolveName(p, name)
	if err != nil {
		return Place{}, fmt.Errorf("%s:%d:%d: %w", found.File, found.Value.Line, found.Value.Column, err)
	}
	next, err := t.follow(target, append(through, text))
	if errors.Is(err, ErrAbsent) {
		return Place{}, fmt.Errorf("%s:%d:%d: %s names %s, which does not exist here; if another config includes this file, name that one", found.File, found.Value.Line, found.Value.Column, text, target)
	}
	next.At = p
	return next, err
}

// LastSet returns the value at a path in the last layer that sets it.
func (t Tree) LastSet(p doc.Path) (Place, error) { return t.lastSetAbove(-1, p) }

// lastSetAbove is LastSet for the layers after the i-th.
func (t Tree) lastSetAbove(i int, p doc.Path) (Place, error) {
	for _, k := range t.layersWith(i, p) {
		l := t.Layers[k]
		if len(p) < len(l.Mount) || !p[:len(l.Mount)].Equal(l.Mount) {
			continue
		}
		inside := p[len(l.Mount):]
		if !l.counts(inside) {
			continue
		}
		v, err := l.Doc.Find(inside)
		switch {
		case err == nil:
			return Place{At: p, File: l.File, Path: inside, Value: v}, nil
		case errors.Is(err, doc.ErrNotFound):
		default:
			return Place{}, err
		}
	}
	return Place{}, fmt.Errorf("%s: %w", p, ErrAbsent)
}

// Nearest returns the layer to which a new key is added: the last of the layers that contain the longest part of
// its path.
func (t Tree) Nearest(p doc.Path) Layer {
	best := t.Layers[0]
	for _, l := range t.Layers[1:] {
		if !l.FlagsOnly && len(l.Mount) < len(p) && p[:len(l.Mount)].Equal(l.Mount) && len(l.Mount) >= len(best.Mount) {
			best = l
		}
	}
	return best
}

// Has reports whether there is anything at a path, including a key that occurs twice, for which Find returns
// an error.
func (t Tree) Has(p doc.Path) bool { return t.hasAbove(-1, p) }

// hasAbove is Has for the layers after the i-th.
func (t Tree) hasAbove(i int, p doc.Path) bool {
	return slices.ContainsFunc(t.layersWith(i, p), func(k int) bool {
		l := t.Layers[k]
		return len(p) >= len(l.Mount) && p[:len(l.Mount)].Equal(l.Mount) && l.counts(p[len(l.Mount):]) && l.Doc.Mentions(p[len(l.Mount):])
	})
}
