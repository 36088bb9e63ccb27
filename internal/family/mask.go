// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
)

// Attention masks of decoders: transformers/masking_utils.py. Those of encoders are in encoder.go.

// causalMask is create_causal_mask, or create_sliding_window_causal_mask if window is not 0. SDPA gets no mask if
// its causal flag is enough, because a mask of ones is detected and dropped. Eager attention gets a float mask,
// flash attention none. pos holds the position ids; if there is no mask, packed sequences are detected from them,
// unless pos is nil or a cache is filled.
func (n net) causalMask(embeds, mask, pos *shadow.Tensor, window int) *shadow.Tensor {
	fn := n.w.Func(embeds, mask, pos)
	if mask != nil {
		fn.Set(&mask, mask.To(shadow.Bool))
	} else if pos != nil && !n.caches() && n.run.Prefix.tokens() == 0 {
		findPacked(pos.Expand(embeds.Size(0), -1))
	}
	switch n.run.Attention {
	case "eager":
		return fn.Return(n.eagerMask(embeds, mask, window))
	case "flash":
		if mask != nil {
			shadow.Item(mask.Alias().All())
		}
		return fn.Return(nil)
	}
	if n.run.Prefix.tokens() == 0 && (window == 0 || embeds.Size(1) < window) {
		n.allOnes(mask)
		if mask == nil || !n.run.Calling.masks() {
			return fn.Return(nil)
		}
		n.allOnes(mask) // transformers checks the part that is not from the cache, which is all of it here
	}
	return fn.Return(n.boolMask(embeds, mask, window))
}

// layerMasks holds the masks of one forward pass, for models in which some layers have a sliding window. The
// model's frame owns them.
type layerMasks struct {
	windows []int // window of each layer, 0 for none
	window  int   // the window that a mask is made for, 0 for none
	both    bool  // with a window, the full mask is made too
	whole   bool  // positions are not searched for packed sequences
	recurs  bool  // some layers are recurrent, and skip padding
	full    *shadow.Tensor
	sliding *shadow.Tensor
}

// sameWindow returns the masks of a model whose layers all have the same window; 0 means none.
func sameWindow(layers, window int) layerMasks {
	return layerMasks{windows: slices.Repeat([]int{window}, layers), window: window}
}

// create makes the masks, the full one first.
func (l *layerMasks) create(fn *shadow.Frame, n net, embeds, mask, pos *shadow.Tensor) {
	l.full, l.sliding = nil, nil
	if l.whole {
		pos = nil
	}
	n.w.Local(&l.full)
	n.w.Local(&l.sliding)
	if l.window == 0 || l.both {
		l.full = fn.Let(n.causalMask(embeds, mask, pos, 0))
	}
	if l.window > 0 {
		l.sliding = fn.Let(n.causalMask(embeds, mask, pos, l.window))
	}
	if l.recurs && mask != nil { // create_recurrent_attention_mask, which drops a mask of ones
		shadow.Item(mask.Compare("eq").All())
	}
}

// of returns the mask for a layer with this window.
func (l *layerMasks) of(window int) *shadow.Tensor {
	if window > 0 {
		return l.sliding
	}
	return l.full
}

// window reads sliding_window. Null means no window; a missing key means def.
func (c *Config) window(def int) int {
	if _, there := c.keys["sliding_window"]; there {
		def = 0
	}
	return c.Int("sliding_window", def)
}

// layerWindows returns the window of each layer, according to the key layer_types or the family's own rule.
func (c *Config) layerWindows(layers, window int, slides func(i int) bool) []int {
	out := make([]int, layers)
	types := c.Strings("layer_types")
	if types != nil && len(types) < layers {
		c.fail("layer_types", "a list with one entry for each layer")
		types = nil
	}
	for i := range out {
		if types != nil && types[i] == "sliding_attention" || types == nil && slides(i) {
			out[i] = window
		}
	}
	return out
}

// findPacked is find_packed_sequence_indices: positions that jump indicate several packed sequences. Simulated
// positions never jump.
func findPacked(pos *shadow.Tensor) {
	fn := pos.World().Func(pos)
	S := pos.Size(1)
	first := fn.Let(pos.Slice(1, 0, 1).AddScalar())        // (B, 1)
	all := shadow.Cat(-1, first, pos).Hold()               // (B, S + 1), inside torch.diff
	diff := all.Slice(-1, 1, S+1).Sub(all.Slice(-1, 0, S)) // (B, S)
	fn.Let(diff)
	all.Drop()
	packed := fn.Let(diff.Compare("ne").Cumsum())
	shadow.Item(packed.Select(1, S-1).Compare("eq").All())
	fn.Return(nil)
}

// allOnes is fast_all, which checks whether a mask is all ones.
func (n net) allOnes(mask *shadow.Tensor) {
	if mask != nil {
		shadow.Item(mask.Sum(false, 0, 1).Compare("eq"))
	}
}

// eagerMask is eager_mask for decoders.
func (n net) eagerMask(embeds, padding *shadow.Tensor, window int) *shadow.Tensor {
	fn := n.w.Func(padding)
	mask := fn.Let(n.boolMask(embeds, padding, window))
	return fn.Return(n.floatMask(embeds.DType(), mask))
}

// floatMask returns the mask that eager attention adds: zero where a token may attend, the lowest number
// elsewhere.
func (n net) floatMask(dt shadow.DType, mask *shadow.Tensor) *shadow.Tensor {
	zero := n.w.Full(dt)
	return shadow.WhereBoth(mask, zero, n.w.Full(dt))
}

// boolMask is sdpa_mask for the decoders' pattern, if a mask is needed: true where a token may
// attend, (B, 1, S, S).
func (n net) boolMask(embeds, padding *shadow.Tensor, window int) *shadow.Tensor {
	return n.sdpaMask(embeds, padding, causalPattern(window))
}

// maskIndex has the indices of a mask function: of the samples (B, 1, 1, 1), the queries (1, 1, S, 1) and the keys
// (1, 1, 1, S).
type maskIndex struct {
	batch, q, kv *shadow.Tensor
	vmapped      bool // the function sees one index of each, and vmap runs it for all
}

// start is the result with which and_masks and or_masks begin. Under vmap it has one element for each query.
func (i maskIndex) start() *shadow.Tensor {
	if i.vmapped {
		return i.q.World().Full(shadow.Bool, 1, 1, i.q.Size(2), 1)
	}
	return i.q.World().Full(shadow.Bool)
}

// pattern is a mask function without padding: it returns which keys the queries may attend to.
type pattern func(at maskIndex) *shadow.Tensor

// causalPattern is true for earlier tokens, within the window if there is one.
func causalPattern(window int) pattern {
	causal := func(at maskIndex) *shadow.Tensor { return at.kv.CompareWith("le", at.q) } // (1, 1, S, S)
	if window == 0 {
		return causal
	}
	return andMasks(windowPattern, causal)
}

// windowPattern is sliding_window_overlay.
func windowPattern(at maskIndex) *shadow.Tensor { return at.kv.CompareWith("gt", at.q.AddScalar()) }

// blockwise is blockwise_overlay: tokens attend to all tokens of their block.
func blockwise(blocks *shadow.Tensor) pattern {
	return func(at maskIndex) *shadow.Tensor {
		fn := at.q.World().Func(at.q, at.kv)
		q := fn.Let(blocks.Index(at.batch, at.q))
		kv := fn.Let(blocks.Index(at.batch, at.kv))
		return fn.Return(q.CompareWith("eq", kv).And(q.Compare("ge")))
	}
}

// paddingPattern is padding_mask_function.
func paddingPattern(padding *shadow.Tensor) pattern {
	return func(at maskIndex) *shadow.Tensor { return padding.Index(at.batch, at.kv) }
}

// sdpaMask is the end of sdpa_mask: a pattern over the positions, combined with the padding.
func (n net) sdpaMask(embeds, padding *shadow.Tensor, look pattern) *shadow.Tensor {
	return n.maskOf(embeds, padding, look, false)
}

// maskOf is sdpaMask, under vmap if the pattern has parts that callers of transformers' functions passed.
func (n net) maskOf(embeds, padding *shadow.Tensor, look pattern, vmapped bool) *shadow.Tensor {
	return n.maskFor(embeds, n.run.Prefix.tokens()+embeds.Size(1), padding, look, vmapped)
}

// maskFor is maskOf for K keys.
func (n net) maskFor(embeds *shadow.Tensor, K int, padding *shadow.Tensor, look pattern, vmapped bool) *shadow.Tensor {
	fn := n.w.Func(padding)
	B, S := embeds.Size(0), embeds.Size(1)
	if padding != nil {
		look = andMasks(look, paddingPattern(padding))
	}
	batch := fn.Let(n.w.Arange(B))
	fn.Let(n.w.Arange(1)) // the heads
	q := fn.Let(n.w.Arange(S).AddScalar())
	kv := fn.Let(n.w.Arange(K).AddScalar())
	inner := n.w.Func()
	at := maskIndex{inner.Let(batch.View(B, 1, 1, 1)), inner.Let(q.View(1, 1, S, 1)), inner.Let(kv.View(1, 1, 1, K)), vmapped}
	mask := inner.Return(look(at))
	return fn.Return(mask.Expand(B, -1, S, K))
}

// andMasks is and_masks.
func andMasks(looks ...pattern) pattern { return joined((*shadow.Tensor).And, looks) }

// orMasks is or_masks.
func orMasks(looks ...pattern) pattern { return joined((*shadow.Tensor).Or, looks) }

func joined(join func(a, b *shadow.Tensor) *shadow.Tensor, looks []pattern) pattern {
	return func(at maskIndex) *shadow.Tensor {
		fn := at.q.World().Func()
		result := fn.Let(at.start())
		for _, look := range looks {
			fn.Set(&result, join(result, look(at)))
		}
		return fn.Return(result)
	}
}
