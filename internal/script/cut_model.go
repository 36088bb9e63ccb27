// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"
)

// Changes to a model's parts before the model is on the card: fewer layers, other embeddings. The model is built
// as if its configuration specified them, because host memory is not counted.

// notFollowed is the note on any other change to a model's parts.
const notFollowed = "replacing this part of the model is not followed; the figure may be too high or too low"

// cutLayers implements model.layers = v if v contains some of the model's own layers, and reports whether it
// does.
func (in *interpreter) cutLayers(n *network, path string, v value) bool {
	if o, ok := v.(*instance); ok {
		v, _ = o.attrs.get("_items")
	}
	l, ok := v.(*list)
	if !ok {
		return false
	}
	kept := map[string]bool{}
	for _, x := range l.items {
		m, ok := x.(*submodule)
		if !ok || m.of != n || !strings.HasSuffix(parentOf(m.path), path) {
			return false
		}
		kept[m.path] = true
	}
	return len(kept) == len(l.items) && in.keepLayers(&submodule{of: n, path: path}, len(kept))
}

// parentOf returns the path of the module that contains the module at path.
func parentOf(path string) string {
	before, _, _ := cutLast(path)
	return before
}

// deleteLayers implements del model.layers[key].
func (in *interpreter) deleteLayers(m *submodule, key value) {
	n := m.blocks(in)
	cut := 1
	if s, ok := key.(*slice); ok {
		cut = len(s.every(make([]value, n)))
	}
	if isUnknown(key) || !in.keepLayers(m, n-cut) {
		in.note(notFollowed)
	}
}

// keepLayers builds the model with only k of its layers. It reports false if the configuration counts other layers
// too, or the model has already been built.
func (in *interpreter) keepLayers(m *submodule, k int) bool {
	n := m.of
	if n.net != nil || n.config == nil || k < 1 {
		return false
	}
	for _, key := range append([]string{"num_hidden_layers"}, synonyms["num_hidden_layers"]...) {
		if in.hasKey(n.config, key) && n.config.get(in, key) == m.blocks(in) {
			n.config.changed[key] = float64(k)
			n.loading.Config, n.known = n.config.changed, nil
			return true
		}
	}
	return false
}

// hasKey reports whether the configuration has the key itself, rather than a synonym of it.
func (in *interpreter) hasKey(c *configValue, key string) bool {
	_, own := c.changed[key]
	_, there := in.Config[key]
	return own || there
}

// resize implements model.resize_token_embeddings(n).
func (n *network) resize(in *interpreter, a arguments) value {
	size, known := a.or(0, "new_num_tokens", nil).(int)
	if of, ok := a.or(1, "pad_to_multiple_of", nil).(int); ok && of > 0 {
		size = (size + of - 1) / of * of
	}
	switch {
	case !known && a.or(0, "new_num_tokens", nil) == nil:
	case !known || size < 1:
		in.note("the new size of the vocabulary is not known here; the model's own is counted, without new rows")
	case n.net != nil || n.config == nil:
		in.note("resizing embeddings after the model is made is not followed; the model's own vocabulary is counted, not %d", size)
	default:
		n.config.changed["vocab_size"] = float64(size)
		n.loading.Config, n.known = n.config.changed, nil
	}
	return unknown{}
}

// every returns the items selected by the slice.
func (s *slice) every(items []value) []value {
	lo, hi := s.bounds(len(items))
	step, ok := s.step.(int)
	switch {
	case !ok || step == 1:
		return items[lo:hi]
	case step == -1:
		out := slices.Clone(items[lo:hi])
		slices.Reverse(out)
		return out
	}
	var out []value
	for i := lo; step > 0 && i < hi; i += step {
		out = append(out, items[i])
	}
	return out
}
