// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// t5Attention is T5Attention, which adds a learned bias for each distance to the scores.
type t5Attention struct {
	shadow.Path
	net
	stack      *t5Stack
	q, k, v, o *nn.Linear
	relative   *nn.Embedding // nil except in a stack's first block
	dim        int
	decoder    bool
	dropout    float64

	// for the current call
	states *shadow.Tensor  // the states that cross-attention attends to
	bias   **shadow.Tensor // position_bias, made if it does not exist
	block  *shadow.Frame   // holds the bias once it exists
	cache  *shadow.Frame   // holds keys and values; nil without a cache
}

func newT5Attention(b *nn.Builder, c *Config, s *t5Stack, at string, relative bool) *t5Attention {
	width, dim, heads := c.Positive("d_model", 512), c.Positive("d_kv", 64), c.Positive("num_heads", 8)
	a := &t5Attention{
		Path: shadow.Path(at), net: s.net, stack: s, dim: dim, decoder: s.decoder, dropout: float64(s.dropout),
		q: b.Linear(at+".q", width, heads*dim, false),
		k: b.Linear(at+".k", width, heads*dim, false),
		v: b.Linear(at+".v", width, heads*dim, false),
		o: b.Linear(at+".o", heads*dim, width, false),
	}
	if relative {
		a.relative = b.Embedding(at+".relative_attention_bias", c.Positive("relative_attention_num_buckets", 32), heads)
	}
	return a
}

// Forward is T5Attention.forward.
func (a *t5Attention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (out, weights *shadow.Tensor) {
	B, S, cross := hidden.Size(0), hidden.Size(1), a.states != nil
	bias, cache, block := a.bias, a.cache, a.block
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2)) // (B, H, S, D)
	current := hidden
	if cross {
		current = a.states
	}
	K := current.Size(1)
	key := fn.Let(a.k.Call(current).View(B, K, -1, a.dim).Transpose(1, 2))   // (B, H, K, D)
	value := fn.Let(a.v.Call(current).View(B, K, -1, a.dim).Transpose(1, 2)) // (B, H, K, D)
	if a.prefixed(cross) {
		a.run.Prefix.extend(fn, &key, &value)
		K = key.Size(2)
	} else if cache != nil {
		k := cache.Let(shadow.Cat(-2, key))
		v := cache.Let(shadow.Cat(-2, value))
		a.run.Calling.keepCache(k, v)
		fn.Set2(&key, k, &value, v)
	}
	if *bias == nil {
		*bias = block.Let(a.positionBias(query, S, K)) // (1, H, S, K)
	}
	out, weights = a.attention(query, key, value, *bias, a.decoder && !cross) // (B, S, H, D)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

// prefixed reports whether keys and values come after a prefix: in the decoder's attention to itself.
func (a *t5Attention) prefixed(cross bool) bool {
	return a.decoder && !cross && a.run.Prefix.tokens() > 0
}

// positionBias returns the bias, or zeros for cross-attention. With checkpointing the zeros require a gradient.
func (a *t5Attention) positionBias(query *shadow.Tensor, S, K int) *shadow.Tensor {
	if a.relative != nil {
		return a.computeBias(S, K)
	}
	zeros := a.w.Full(query.DType(), 1, query.Size(1), S, K)
	if a.run.Checkpointing {
		zeros.SetTrained(true)
	}
	return zeros
}

// computeBias is compute_bias.
func (a *t5Attention) computeBias(S, K int) *shadow.Tensor {
	fn := a.w.Func()
	context := fn.Let(a.w.Arange(S).Unsqueeze(1).AddScalar())
	memory := fn.Let(a.w.Arange(K).Unsqueeze(0))
	relative := fn.Let(memory.Sub(context)) // (S, K)
	bucket := fn.Let(a.bucket(relative))
	values := fn.Let(a.relative.Call(bucket)) // (S, K, H)
	fn.Set(&values, values.Permute(2, 0, 1).Unsqueeze(0))
	return fn.Return(values) // (1, H, S, K)
}

// bucket is _relative_position_bucket: each short distance has its own bucket; long distances share buckets.
func (a *t5Attention) bucket(relative *shadow.Tensor) *shadow.Tensor {
	fn := a.w.Func(relative)
	var buckets *shadow.Tensor
	if !a.decoder {
		fn.Set(&buckets, relative.Compare("gt").To(shadow.Int64).MulScalar().AddScalar())
		fn.Set(&relative, relative.Abs())
	} else {
		fn.Set(&relative, relative.Minimum(relative.FullLike()).Neg())
	}
	small := fn.Let(relative.Compare("lt"))
	large := fn.Let(relative.To(shadow.Float32).DivScalar().LogPlain().DivScalar().MulScalar().To(shadow.Int64).AddScalar())
	fn.Set(&large, large.Minimum(large.FullLike()))
	chosen := shadow.WhereBoth(small, relative, large)
	if buckets == nil {
		fn.Set(&buckets, chosen.AddScalar())
	} else {
		buckets.AddTo(chosen)
	}
	return fn.Return(buckets)
}

// attention runs the selected attention function with a bias.
func (a *t5Attention) attention(q, k, v, bias *shadow.Tensor, causal bool) (out, weights *shadow.Tensor) {
	if a.run.Attention == "eager" {
		mask := a.stack.causal
		if !causal {
			mask = nil
		}
		return a.eager(q, k, v, bias, mask)
	}
	fn := a.w.Func(q, k, v, bias)
	mask := fn.Let(bias)
	if causal && a.prefixed(false) {
		fn.Set(&mask, shadow.Where(a.stack.causal, bias))
	} else if causal && q.Size(2) > 1 {
		fn.Set(&mask, a.causalBias(bias, q.Size(2), k.Size(2)))
	} else if padding := a.stack.padding; padding != nil {
		fn.Set(&mask, shadow.Where(padding, bias))
	}
	out = a.w.SDPA(shadow.Attention{Query: q, Key: k, Value: v, Mask: mask, Dropout: a.dropout})
	return fn.Return(out.Transpose(1, 2).Contiguous()), nil
}

// causalBias is create_position_bias_mask: the bias where a token may attend.
func (a *t5Attention) causalBias(bias *shadow.Tensor, S, K int) *shadow.Tensor {
	fn := a.w.Func(bias)
	mask := fn.Let(a.w.Arange(S).Unsqueeze(1).CompareWith("ge", a.w.Arange(K).Unsqueeze(0)))
	fn.Set(&mask, mask.View(1, 1, S, K))
	return fn.Return(shadow.Where(mask, bias))
}

// eager is T5's own eager_attention_forward.
func (a *t5Attention) eager(q, k, v, bias, mask *shadow.Tensor) (out, weights *shadow.Tensor) {
	fn := a.w.Func(q, k, v, bias, mask)
	fn.Set(&weights, q.Matmul(k.Transpose(2, 3)).MulScalar()) // (B, H, S, K)
	fn.Set(&weights, weights.Add(bias))
	if mask != nil {
		fn.Set(&weights, weights.Add(mask))
	}
	fn.Set(&weights, weights.Softmax(shadow.None))
	fn.Set(&weights, weights.Dropout(a.dropout))
	fn.Set(&out, weights.Matmul(v)) // (B, H, S, D)
	fn.Set(&out, out.Transpose(1, 2).Contiguous())
	return fn.Return2(out, weights)
}
