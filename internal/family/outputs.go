// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// Outputs holds the results of a model's forward. A loop that binds it to a name keeps all of it.
type Outputs struct {
	Loss   *shadow.Tensor // nil without labels
	Logits *shadow.Tensor
	Hidden *shadow.Tensor   // the last hidden states, of a model without a head
	Pooled *shadow.Tensor   // the first token's state through another layer, if the model has one
	Masked bool             // padding was masked, since the batch's mask has zeros
	Cache  []*shadow.Tensor // keys and values of each layer, if use_cache is on
}

// Calling says how the current forward is called. All parts of a run share it.
type Calling struct {
	Keep          *Outputs // receives the results; nil if the loop uses only the loss, and trains without a cache
	Cache         bool     // use_cache, transformers' default
	Base          bool     // the model is called without its head
	Checkpointing bool
	Padded        bool           // the batch's attention mask has zeros
	Reentrant     bool           // the older kind of checkpointing
	Every         int            // every how many blocks one is checkpointed, from the first; 0 means each
	SkipLogits    bool           // Liger's loss makes no logits in an evaluation either
	padding       *shadow.Tensor // the mask of the padding, in encoders
	block         int            // the next block of the current forward
	Items         *shadow.Tensor // num_items_in_batch, by which transformers' losses divide their sum; nil for the mean
}

// skips reports whether the next block is not checkpointed although others are.
func (c *Calling) skips() bool {
	if c == nil || c.Every < 2 {
		return false
	}
	c.block++
	return (c.block-1)%c.Every != 0
}

// averaged is the end of fixed_cross_entropy: the sum is divided by the number of items in all batches of a step.
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

// keepHidden holds the last hidden states, and reports whether nothing else was asked for.
func (c *Calling) keepHidden(hidden *shadow.Tensor) bool {
	if c == nil || c.Keep == nil {
		return false
	}
	c.Keep.Hidden = hidden.Hold()
	return true
}

// ends reports whether the forward ends without a head, and holds its results.
func (c *Calling) ends(hidden, pooled *shadow.Tensor) bool {
	if c == nil || !c.Base || !c.keepHidden(hidden) {
		return false
	}
	if pooled != nil {
		c.keepPooled(pooled)
	}
	return true
}

// keepPooled holds the pooler's output.
func (c *Calling) keepPooled(pooled *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Pooled = pooled.Hold()
	}
}

// checkpoints reports whether blocks are checkpointed in the current forward; in an evaluation they are not.
func (n net) checkpoints() bool {
	if n.w.Eval {
		return false
	}
	if c := n.run.Calling; c != nil && c.Checkpointing {
		return true
	}
	return n.run.Checkpointing
}

// reentrant reports whether checkpointing is of the older kind.
func (n net) reentrant() bool {
	c := n.run.Calling
	return n.run.Reentrant || c != nil && c.Reentrant
}

// masks reports whether the batch's mask has zeros, so that padding must be masked, and notes that it is.
func (c *Calling) masks() bool {
	if c == nil || !c.Padded {
		return false
	}
	if c.Keep != nil {
		c.Keep.Masked = true
	}
	return true
}

// paddingOf returns the mask of the padding, or nil if there is none.
func (c *Calling) paddingOf() *shadow.Tensor {
	if c == nil {
		return nil
	}
	return c.padding
}
