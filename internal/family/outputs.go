// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// Outputs is what a model's forward returns. A loop that binds it to a name keeps all of it.
type Outputs struct {
	Loss   *shadow.Tensor // nil without labels
	Logits *shadow.Tensor
	Hidden *shadow.Tensor   // the last hidden states, of a model without a head
	Pooled *shadow.Tensor   // the first token's, through a layer more, where such a model has one
	Cache  []*shadow.Tensor // keys and values of each layer, where use_cache is on
}

// Calling is how the forward under way is called. All of a run share it.
type Calling struct {
	Keep          *Outputs // takes the results; nil if the loop uses the loss alone, and trains without a cache
	Cache         bool     // use_cache, as transformers has it by default
	Checkpointing bool
	Reentrant     bool           // the older kind of checkpointing
	Every         int            // which blocks are checkpointed: every so manieth, from the first; 0 is each
	SkipLogits    bool           // Liger's loss goes without the logits in an evaluation too
	block         int            // the next block of the forward under way
	Items         *shadow.Tensor // num_items_in_batch, by which transformers' losses divide their sum; nil for the mean
}

// skips reports whether the next block is one that is not checkpointed though others are.
func (c *Calling) skips() bool {
	if c == nil || c.Every < 2 {
		return false
	}
	c.block++
	return (c.block-1)%c.Every != 0
}

// averaged is the end of fixed_cross_entropy: a sum is divided by the items of all batches of a step.
func (c *Calling) averaged(loss *shadow.Tensor) *shadow.Tensor {
	if c == nil || c.Items == nil {
		return loss
	}
	return loss.Div(c.Items)
}

// keepLogits holds the logits for the caller of the model.
func (c *Calling) keepLogits(logits *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Logits = logits.Hold()
	}
}

// keepHidden holds the last hidden states, and reports whether that is all that was asked for.
func (c *Calling) keepHidden(hidden *shadow.Tensor) bool {
	if c == nil || c.Keep == nil {
		return false
	}
	c.Keep.Hidden = hidden.Hold()
	return true
}

// keepPooled holds what a pooler made.
func (c *Calling) keepPooled(pooled *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Pooled = pooled.Hold()
	}
}

// cached is past_key_values.update: keys and values are appended to an empty cache, which copies them, and
// the names are bound to the copies. A layer with a window keeps the end of them.
func (n net) cached(fn *shadow.Frame, key, value **shadow.Tensor, window int) {
	if !n.caches() {
		return
	}
	c := n.run.Calling
	if window > 0 {
		c.Keep.Cache = append(c.Keep.Cache, n.w.Input(shadow.Int64)) // the window's size, on the card
	}
	k := shadow.Cat(-2, n.emptyCache(*key), *key)
	c.Keep.Cache = append(c.Keep.Cache, k.Hold())
	v := shadow.Cat(-2, n.emptyCache(*key), *value)
	c.Keep.Cache = append(c.Keep.Cache, v.Hold())
	fn.Set2(key, k, value, v)
}

// emptyCache is a cache of no tokens yet, in the type of the keys.
func (n net) emptyCache(key *shadow.Tensor) *shadow.Tensor {
	return n.w.Empty(key.Shape().With(key.Dim()-2, 0), key.DType())
}

// caches reports whether the forward under way fills a cache of keys and values.
func (n net) caches() bool {
	c := n.run.Calling
	return c != nil && c.Keep != nil && c.Cache && !n.checkpoints()
}

// checkpoints reports whether blocks are checkpointed in the forward under way: not in an evaluation.
func (n net) checkpoints() bool {
	if n.w.Eval {
		return false
	}
	if c := n.run.Calling; c != nil && c.Checkpointing {
		return true
	}
	return n.run.Checkpointing
}

// reentrant reports whether that is the older kind.
func (n net) reentrant() bool {
	c := n.run.Calling
	return n.run.Reentrant || c != nil && c.Reentrant
}
