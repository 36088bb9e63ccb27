// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// The cache of keys and values, which a model fills even in training unless it is turned off.

// cached is past_key_values.update: keys and values are appended to a prefix, or to an empty cache, which copies them, and the
// variables are rebound to the copies. A layer with a window keeps only the last tokens.
func (n net) cached(fn *shadow.Frame, key, value **shadow.Tensor, window int) {
	if n.run.Prefix.tokens() > 0 {
		n.run.Prefix.extend(fn, key, value)
		return
	}
	if !n.caches() {
		return
	}
	c := n.run.Calling
	if len(c.Past) > 0 {
		n.extendCache(fn, key, value, window)
		return
	}
	if window > 0 {
		c.Keep.Cache = append(c.Keep.Cache, n.w.Input(shadow.Int64)) // the window's size, on the card
	}
	k := shadow.Cat(-2, n.emptyCache(*key), *key)
	c.Keep.Cache = append(c.Keep.Cache, k.Hold())
	v := shadow.Cat(-2, n.emptyCache(*key), *value)
	c.Keep.Cache = append(c.Keep.Cache, v.Hold())
	fn.Set2(key, k, value, v)
}

// extendCache appends the keys and values of new tokens to those of earlier ones, each of which is freed once its
// copy exists. It does not truncate to the window, which overestimates memory once a sample is longer than the
// window.
func (n net) extendCache(fn *shadow.Frame, key, value **shadow.Tensor, window int) {
	c := n.run.Calling
	if window > 0 {
		c.Keep.Cache = append(c.Keep.Cache, c.Past[0])
		c.Past = c.Past[1:]
	}
	grown := func(past *shadow.Tensor) *shadow.Tensor {
		n.w.Op("cat")
		out := n.w.Empty(past.Shape().With(past.Dim()-2, past.Size(past.Dim()-2)+c.Grow), past.DType())
		n.w.Launch(out, past)
		c.Keep.Cache = append(c.Keep.Cache, out.Hold())
		past.Drop()
		return out
	}
	k := grown(c.Past[0])
	v := grown(c.Past[1])
	c.Past = c.Past[2:]
	fn.Set2(key, k, value, v)
}

// emptyCache makes a cache without tokens, in the type of the keys.
func (n net) emptyCache(key *shadow.Tensor) *shadow.Tensor {
	return n.w.Empty(key.Shape().With(key.Dim()-2, 0), key.DType())
}

// caches reports whether the current forward fills a cache of keys and values.
func (n net) caches() bool {
	c := n.run.Calling
	return c != nil && c.Keep != nil && c.Cache && !n.checkpoints()
}
