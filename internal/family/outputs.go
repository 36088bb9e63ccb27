// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// Outputs holds the results of a model's forward. A loop that binds it to a variable keeps all of them alive.
type Outputs struct {
	Loss    *shadow.Tensor   // nil without labels
	Logits  *shadow.Tensor   // nil if the forward computes none, or returns Chunks
	Ends    *shadow.Tensor   // logits of the last token of an answer; Logits are those of the first
	Hidden  *shadow.Tensor   // the last hidden states, of a model without a head
	Pooled  *shadow.Tensor   // the pooler's output for the first token, if the model has a pooler
	Masked  bool             // padding was masked, because the batch's mask has zeros
	Chunks  []*shadow.Tensor // the logits split along the sequence, instead of Logits
	Cache   []*shadow.Tensor // keys and values of each layer, if use_cache is on
	Encoded *shadow.Tensor   // the encoder's last hidden states, of a model with an encoder and a decoder
	States  []*shadow.Tensor // the first block's input and each block's output, if output_hidden_states is on
}

// Calling describes how the current forward is called. All parts of a run share it.
type Calling struct {
	Keep          *Outputs         // receives the results; nil if the loop uses only the loss and trains without a cache
	Cache         bool             // use_cache, transformers' default
	Base          bool             // the model is called without its head
	Last          bool             // logits_to_keep is 1: only the last token gets logits
	Past          []*shadow.Tensor // keys and values of earlier tokens, which the forward takes ownership of and extends
	Grow          int              // number of tokens by which the forward extends Past
	States        bool             // output_hidden_states
	Checkpointing bool             // gradient_checkpointing_enable() was called
	Unchecked     bool             // gradient_checkpointing_disable() was called, overriding the run
	Padded        bool             // the batch's attention mask has zeros
	Reentrant     *bool            // use_reentrant of checkpointing; nil means Run's value
	Every         int              // one in this many blocks is checkpointed, starting with the first; 0 means all
	Chunks        int              // torchtune's num_output_chunks
	SkipLogits    bool             // Liger's loss skips the logits in evaluation too
	padding       *shadow.Tensor   // the padding mask, in encoders
	block         int              // index of the next block of the current forward
	Items         *shadow.Tensor   // num_items_in_batch, by which transformers' losses divide their sum; nil for the mean
}

// skips reports whether the next block is excluded from checkpointing.
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

// keepLogits keeps the logits for the model's caller.
func (c *Calling) keepLogits(logits *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Logits = logits.Hold()
	}
}

// keepEncoded keeps the encoder's last hidden states.
func (c *Calling) keepEncoded(states *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Encoded = states.Hold()
	}
}

// keepCache keeps the keys and values of a decoder beside an encoder, which returns them even in training.
func (c *Calling) keepCache(ts ...*shadow.Tensor) {
	if c == nil || c.Keep == nil {
		return
	}
	for _, t := range ts {
		c.Keep.Cache = append(c.Keep.Cache, t.Hold())
	}
}

// keepAnswers keeps the logits of the first and last tokens of answers.
func (c *Calling) keepAnswers(start, end *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Logits, c.Keep.Ends = start.Hold(), end.Hold()
	}
}

// keepChunk keeps a piece of the logits.
func (c *Calling) keepChunk(logits *shadow.Tensor) {
	if c.Keep == nil {
		logits.Drop()
		return
	}
	c.Keep.Chunks = append(c.Keep.Chunks, logits.Hold())
}

// keepHidden keeps the last hidden states, and reports whether nothing else was requested.
func (c *Calling) keepHidden(hidden *shadow.Tensor) bool {
	if c == nil || c.Keep == nil {
		return false
	}
	c.Keep.Hidden = hidden.Hold()
	return true
}

// ends reports whether the forward ends without a head, and if so keeps its results.
func (c *Calling) ends(hidden, pooled *shadow.Tensor) bool {
	if c == nil || !c.Base || !c.keepHidden(hidden) {
		return false
	}
	if pooled != nil {
		c.keepPooled(pooled)
	}
	return true
}

// keepState keeps the output of a block and, before the first one, its input, as transformers'
// output_hidden_states hooks do. It does nothing for a model with two stacks of blocks.
func (n net) keepState(input, output *shadow.Tensor) {
	c := n.run.Calling
	if c == nil || !c.States || c.Keep == nil || n.run.Head == Seq2SeqLM {
		return
	}
	if len(c.Keep.States) == 0 {
		c.Keep.States = append(c.Keep.States, input.Hold())
	}
	c.Keep.States = append(c.Keep.States, output.Hold())
}

// tieState replaces the last block's output among the hidden states with the model's output, which most models
// normalize.
func (c *Calling) tieState(hidden *shadow.Tensor) {
	if c == nil || c.Keep == nil || len(c.Keep.States) == 0 {
		return
	}
	last := &c.Keep.States[len(c.Keep.States)-1]
	old := *last
	*last = hidden.Hold()
	old.Drop()
}

// keepPooled keeps the pooler's output.
func (c *Calling) keepPooled(pooled *shadow.Tensor) {
	if c != nil && c.Keep != nil {
		c.Keep.Pooled = pooled.Hold()
	}
}

// checkpoints reports whether blocks are checkpointed in the current forward. In evaluation they never are.
func (n net) checkpoints() bool {
	if n.w.Eval {
		return false
	}
	if c := n.run.Calling; c != nil && (c.Checkpointing || c.Unchecked) {
		return c.Checkpointing
	}
	return n.run.Checkpointing
}

// reentrant reports whether checkpointing is reentrant.
func (n net) reentrant() bool {
	if c := n.run.Calling; c != nil && c.Reentrant != nil {
		return *c.Reentrant
	}
	return n.run.Reentrant
}

// unpadded runs make for a mask that is known to be all ones.
func (c *Calling) unpadded(make func()) {
	if c == nil {
		make()
		return
	}
	was := c.Padded
	c.Padded = false
	make()
	c.Padded = was
}

// masks reports whether the batch's mask has zeros, so that padding must be masked, and records that in Keep.
func (c *Calling) masks() bool {
	if c == nil || !c.Padded {
		return false
	}
	if c.Keep != nil {
		c.Keep.Masked = true
	}
	return true
}

// paddingOf returns the padding mask, or nil if there is none.
func (c *Calling) paddingOf() *shadow.Tensor {
	if c == nil {
		return nil
	}
	return c.padding
}
