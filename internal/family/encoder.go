// SPDX-License-Identifier: Apache-2.0

package family

import "snug/internal/shadow"

// Code shared by encoders in transformers: no mask, attention in both directions, and the losses of their heads.

// prefix returns the path of an encoder in its model: name if the model has a head, otherwise the root.
func (n net) prefix(name string) string {
	if n.run.Head == Encoder {
		return ""
	}
	return name + "."
}

// bidirectionalMask is create_bidirectional_mask: a mask of ones is detected and dropped, for eager attention
// too. A mask with zeros is ignored here; see paddingMask.
func (n net) bidirectionalMask(mask *shadow.Tensor) {
	if mask == nil {
		return
	}
	fn := n.w.Func(mask)
	padding := fn.Let(mask.To(shadow.Bool))
	shadow.Item(padding.All())
	fn.Return(nil)
}

// paddingMask is bidirectionalMask for models whose attention uses the mask of a padded batch. fn holds the mask.
func (n net) paddingMask(fn *shadow.Frame, embeds, mask *shadow.Tensor) {
	if n.run.Calling != nil {
		n.run.Calling.padding = nil
	}
	if mask == nil || n.run.Attention == "eager" || n.run.Attention == "flash" || !n.run.Calling.masks() {
		n.bidirectionalMask(mask)
		return
	}
	inner := n.w.Func(mask)
	padding := inner.Let(mask.To(shadow.Bool))
	shadow.Item(padding.All())
	n.run.Calling.padding = fn.Let(inner.Return(n.sdpaMask(embeds, padding, everywhere)))
}

// paddedKeys is create_bidirectional_mask for a batch with padding: a mask of the keys for each query, (B, 1, S, K); nil if there is
// no padding, or the attention is not SDPA. embeds are the queries, and mask (B, K) is that of the keys.
func (n net) paddedKeys(embeds, mask *shadow.Tensor) *shadow.Tensor {
	if mask == nil || n.run.Attention == "eager" || n.run.Attention == "flash" || n.run.Prefix.tokens() > 0 || !n.run.Calling.masks() {
		n.bidirectionalMask(mask)
		return nil
	}
	fn := n.w.Func(mask)
	padding := fn.Let(mask.To(shadow.Bool))
	shadow.Item(padding.All())
	return fn.Return(n.maskFor(embeds, mask.Size(1), padding, everywhere, false))
}

// everywhere is bidirectional_mask_function.
func everywhere(at maskIndex) *shadow.Tensor { return at.q.Compare("ge") }

// windowMask is create_bidirectional_sliding_window_mask: tokens attend no further than the window in
// either direction. Only sequences shorter than the window need no mask.
func (n net) windowMask(embeds, mask *shadow.Tensor, window int) *shadow.Tensor {
	fn := n.w.Func(embeds, mask)
	if mask != nil {
		fn.Set(&mask, mask.To(shadow.Bool))
		shadow.Item(mask.All())
	}
	padded := mask != nil && n.run.Calling.masks()
	if embeds.Size(1) < window && !padded || n.run.Attention == "flash" {
		return fn.Return(nil)
	}
	near := func(at maskIndex) *shadow.Tensor { return at.q.Sub(at.kv).Abs().Compare("le") }
	out := fn.Let(n.sdpaMask(embeds, mask, andMasks(near, everywhere)))
	if n.run.Attention == "eager" {
		fn.Set(&out, n.floatMask(embeds.DType(), out))
	}
	return fn.Return(out)
}

// bothWays is the attention function of BERT and similar models. q, k and v are (B, H, S, D), the result is (B,
// S, H, D); eager attention also returns the weights. Unlike in decoders, the softmax keeps the type of the
// scores.
func (n net) bothWays(q, k, v *shadow.Tensor, dropout float64) (out, weights *shadow.Tensor) {
	if n.run.Attention != "eager" {
		return n.attention(q, k, v, attending{mask: n.run.Calling.paddingOf(), dropout: dropout})
	}
	return n.plainEager(q, k, v, nil, dropout)
}

// plainEager is BERT's eager_attention_forward; mask may be nil.
func (n net) plainEager(q, k, v, mask *shadow.Tensor, dropout float64) (out, weights *shadow.Tensor) {
	fn := n.w.Func(q, k, v, mask)
	fn.Set(&weights, q.Matmul(k.Transpose(2, 3)).MulScalar()) // (B, H, S, S)
	if mask != nil {
		fn.Set(&weights, weights.Add(mask))
	}
	fn.Set(&weights, weights.Softmax(shadow.None))
	fn.Set(&weights, weights.Dropout(dropout))
	fn.Set(&out, weights.Matmul(v)) // (B, H, S, D)
	fn.Set(&out, out.Transpose(1, 2).Contiguous())
	return fn.Return2(out, weights)
}

// tokenTypes returns the ids that an embedding module makes when none are given: a row of zeros gathered at the
// positions and expanded to each sequence.
func (n net) tokenTypes(fn *shadow.Frame, zeros, positions *shadow.Tensor) *shadow.Tensor {
	buffered := fn.Let(zeros.Expand(positions.Size(0), -1))
	fn.Set(&buffered, buffered.Gather(positions))
	return fn.Let(buffered.Expand(n.run.Batch, n.run.Seq)) // (B, S)
}

// positionsFrom is create_position_ids_from_input_ids: it numbers the tokens that are not padding.
// RoBERTa adds the cache length, which is 0 here.
func positionsFrom(ids *shadow.Tensor, past bool) *shadow.Tensor {
	fn := ids.World().Func(ids)
	mask := fn.Let(ids.Compare("ne").To(shadow.Int32))
	count := mask.Cumsum().To(shadow.Int32)
	if past {
		count = count.AddScalar()
	}
	count = fn.Let(count.Mul(mask))
	return fn.Return(count.To(shadow.Int64).AddScalar())
}

// encoderLoss returns the loss of an encoder: classification, masked language modeling or, without a head, an
// embedding model's loss.
func (n net) encoderLoss(e encoded, head *lmHead, classes *classifier, b Batch, vocab int) *shadow.Tensor {
	if n.run.Calling.ends(e.hidden, e.pooled) {
		return nil
	}
	if classes != nil {
		return n.classLoss(classes, e, b)
	}
	n.run.Calling.tieState(e.hidden)
	if head == nil {
		if n.run.Calling.keepHidden(e.hidden) {
			return nil
		}
		return contrastiveLoss(e.hidden, n.run.Rows())
	}
	fn := n.w.Func(e.hidden)
	logits := fn.Let(head.Call(e.hidden)) // (B, S, V)
	n.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(maskedLoss(logits, b.Labels, vocab))
}

// maskedLoss is CrossEntropyLoss over every token, in the type of the logits.
func maskedLoss(logits, labels *shadow.Tensor, vocab int) *shadow.Tensor {
	return logits.View(-1, vocab).CrossEntropy(labels.View(-1))
}

// maskedLMLoss is ForMaskedLMLoss: like maskedLoss, but in float32.
func maskedLMLoss(logits, labels *shadow.Tensor, vocab int, how *Calling) *shadow.Tensor {
	fn := logits.World().Func(logits, labels)
	fn.Set(&logits, logits.Float())
	fn.Set(&logits, logits.View(-1, vocab))
	fn.Set(&labels, labels.View(-1))
	return fn.Return(how.averaged(logits.CrossEntropy(labels)))
}

// contrastiveLoss is an embedding model's loss: tokens are mean-pooled and normalized, and each anchor is scored
// against all positives and negatives. Without positives and negatives, anchors are scored against each other.
func contrastiveLoss(hidden *shadow.Tensor, rows int) *shadow.Tensor {
	w := hidden.World()
	fn := w.Func()
	h := fn.Let(hidden.Mean(false, 1)) // (R, H)
	s := fn.Let(h.Float().Normalize()) // (R, H)
	if rows > 1 {
		anchors := s.Size(0) / rows
		a := fn.Let(s.Slice(0, 0, anchors))                // (B, H)
		others := fn.Let(s.Slice(0, anchors, s.Size(0)))   // (B (rows - 1), H)
		scores := fn.Let(a.Matmul(others.T()).DivScalar()) // (B, B (rows - 1))
		return fn.Return(scores.CrossEntropy(w.Arange(anchors)))
	}
	scores := s.Matmul(s.T()).DivScalar() // (B, B)
	return fn.Return(scores.CrossEntropy(w.Arange(s.Size(0))))
}
