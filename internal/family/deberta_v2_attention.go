// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// debertaAttention is DebertaV2Attention.
type debertaAttention struct {
	shadow.Path
	self   *disentangled
	output *bertOutput
}

func newDebertaAttention(b *nn.Builder, c *Config, m *deberta, at string) *debertaAttention {
	a := &disentangled{Path: shadow.Path(at + ".self"), m: m, span: c.positionSpan()}
	a.query = b.Linear(at+".self.query_proj", m.hidden, m.hidden, true)
	a.key = b.Linear(at+".self.key_proj", m.hidden, m.hidden, true)
	a.value = b.Linear(at+".self.value_proj", m.hidden, m.hidden, true)
	a.c2p, a.p2c = c.positionKinds()
	a.posKey, a.posQuery = a.key, a.query
	a.shares = c.Bool("share_att_key", false)
	a.relative = c.Bool("relative_attention", false)
	if a.relative && !a.shares {
		if a.c2p {
			a.posKey = b.Linear(at+".self.pos_key_proj", m.hidden, m.hidden, true)
		}
		if a.p2c {
			a.posQuery = b.Linear(at+".self.pos_query_proj", m.hidden, m.hidden, true)
		}
	}
	a.drop, a.posDrop = nn.Dropout(m.attnDropout), nn.Dropout(m.dropout)
	return &debertaAttention{Path: shadow.Path(at), self: a, output: newBertOutput(b, at+".output", m.hidden, m.bertConfig)}
}

func (a *debertaAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	out := fn.Let(hidden.World().Call(a.self, hidden))
	return fn.Let(a.output.Call(out, hidden))
}

// disentangled is DisentangledSelfAttention.
type disentangled struct {
	shadow.Path
	m                *deberta
	query, key       *nn.Linear
	value            *nn.Linear
	posKey, posQuery *nn.Linear // the same layers if they are shared
	shares, relative bool
	c2p, p2c         bool // contents attend to positions, positions to contents
	span             int  // pos_ebd_size
	drop, posDrop    nn.Dropout
}

func (a *disentangled) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	B, S, H := hidden.Size(0), hidden.Size(1), a.m.heads
	query := fn.Let(a.split(a.query.Call(hidden))) // (B·H, S, D)
	key := fn.Let(a.split(a.key.Call(hidden)))
	value := fn.Let(a.split(a.value.Call(hidden)))
	scores := fn.Let(query.Bmm(key.Transpose(-1, -2).DivScalar())) // (B·H, S, S)
	if a.relative {
		rel := fn.Let(a.m.rel)
		fn.Set(&rel, a.posDrop.Call(rel))
		if bias := a.bias(query, key, rel); bias != nil {
			fn.Let(bias)
			fn.Set(&scores, scores.Add(bias))
		}
	}
	fn.Set(&scores, scores.View(-1, H, S, S))
	mask := fn.Let(a.m.mask.To(shadow.Bool))
	fn.Set(&scores, scores.MaskedFill(mask.Not()))
	probs := fn.Let(scores.Softmax(shadow.None))
	fn.Set(&probs, a.drop.Call(probs))
	context := fn.Let(probs.View(-1, S, S).Bmm(value)) // (B·H, S, D)
	fn.Set(&context, context.View(-1, H, S, context.Size(-1)).Permute(0, 2, 1, 3).Contiguous())
	fn.Set(&context, context.View(B, S, -1))
	return context
}

// split is transpose_for_scores: (B, S, H·D) to (B·H, S, D).
func (a *disentangled) split(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	fn.Set(&x, x.View(x.Size(0), x.Size(1), a.m.heads, -1))
	S, D := x.Size(1), x.Size(-1)
	return fn.Return(x.Permute(0, 2, 1, 3).Contiguous().View(-1, S, D))
}

// bias is disentangled_attention_bias, (B·H, S, S), or nil if there is none.
func (a *disentangled) bias(query, key, rel *shadow.Tensor) *shadow.Tensor {
	w := query.World()
	fn := w.Func(query, key, rel)
	pos := fn.Let(a.m.pos.Unsqueeze(1)) // (1, 1, S, S)
	fn.Set(&rel, rel.Slice(0, 0, 2*a.span).Unsqueeze(0))
	times := query.Size(0) / a.m.heads
	places := func(l *nn.Linear) *shadow.Tensor { return a.split(l.Call(rel)).Repeat(times, 1, 1) } // (B·H, 2P, D)
	var posQuery, posKey, score *shadow.Tensor
	if a.shares {
		posQuery = fn.Let(places(a.posQuery))
	}
	if a.shares || a.c2p {
		posKey = fn.Let(places(a.posKey))
	}
	if !a.shares && a.p2c {
		posQuery = fn.Let(places(a.posQuery))
	}
	if a.c2p {
		att := fn.Let(query.Bmm(posKey.Transpose(-1, -2))) // (B·H, S, 2P)
		at := fn.Let(pos.AddScalar().Plain("clamp", shadow.Int64))
		fn.Set(&att, att.Pick(at.Squeeze(0).Expand(query.Size(0), query.Size(1), pos.Size(-1))))
		fn.Set(&score, att.DivScalar().AddScalar())
	}
	if a.p2c {
		at := fn.Let(pos.Plain("neg", shadow.Int64).AddScalar().Plain("clamp", shadow.Int64))
		att := fn.Let(key.Bmm(posQuery.Transpose(-1, -2)))
		fn.Set(&att, att.Pick(at.Squeeze(0).Expand(query.Size(0), key.Size(-2), key.Size(-2))).Transpose(-1, -2))
		if score == nil {
			fn.Set(&score, att.DivScalar().AddScalar())
		} else {
			score.AddInto(att.DivScalar())
		}
	}
	return fn.Return(score)
}

// relativePositions is build_relative_position: (1, S, S). Distant positions may share logarithmic buckets.
func relativePositions(hidden *shadow.Tensor, buckets func(pos *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	w, S := hidden.World(), hidden.Size(-2)
	fn := w.Func(hidden)
	q, k := fn.Let(w.Arange(S)), fn.Let(w.Arange(S))
	pos := fn.Let(q.Unsqueeze(1).Sub(k.Unsqueeze(0))) // (S, S)
	if buckets != nil {
		fn.Set(&pos, buckets(pos))
	}
	fn.Set(&pos, pos.To(shadow.Int64))
	fn.Set(&pos, pos.Alias())
	fn.Set(&pos, pos.Unsqueeze(0))
	return fn.Return(pos)
}

// logBuckets is make_log_bucket_position. It is compiled, so each value is freed at its last use. The first call
// is profiled; later calls fuse pointwise ops.
func (m *deberta) logBuckets(pos *shadow.Tensor) *shadow.Tensor {
	if m.profiled {
		return fusedBuckets(pos)
	}
	m.profiled = true
	w := pos.World()
	fn := w.Func(pos)
	sign := pos.Plain("sign", shadow.Int64)
	near := pos.Compare("lt").And(pos.Compare("gt"))
	abs := fn.Let(shadow.WhereBoth(near, w.Empty(shadow.Dims(), shadow.Int64), pos.Abs()))
	log := abs.Plain("div", shadow.Float32).Plain("log", shadow.Float32).MulScalar().MulScalar().Plain("ceil", shadow.Float32).AddScalar()
	small := abs.Compare("le")
	fn.Del(&abs)
	return fn.Return(shadow.WhereBoth(small, pos.To(shadow.Float32), log.Mul(sign)))
}

// fusedBuckets is make_log_bucket_position with two fused kernels, one before and one after a division by a CPU
// scalar.
func fusedBuckets(pos *shadow.Tensor) *shadow.Tensor {
	w := pos.World()
	fn := w.Func(pos)
	sign := fn.Let(pos.Plain("sign", shadow.Int64))
	middle := w.Empty(shadow.Dims(), shadow.Int64)
	log := w.Empty(pos.Shape(), shadow.Float32)
	abs := fn.Let(w.Empty(pos.Shape(), shadow.Int64))
	middle.Drop()
	log = log.MulScalar()
	out := w.Empty(pos.Shape(), shadow.Float32)
	log.Drop()
	fn.Del(&abs)
	fn.Del(&sign)
	return fn.Return(out)
}
