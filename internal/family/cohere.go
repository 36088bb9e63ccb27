// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Cohere's Command R and Aya: transformers/models/cohere/modular_cohere.py. Attention and MLP run in parallel
// after one layer norm, pairs of neighboring elements are rotated in float32, and logits are scaled.

func newCohere(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readDecoder(c, llamaShape{hidden: 8192, layers: 40, heads: 64, inter: 22528, vocab: 256000})
	return newCohereLike(b, c, run, s, c.Bool("use_qk_norm", false), func(int) bool { return true }), nil
}

// newCohereLike makes CohereForCausalLM or Cohere2ForCausalLM; rotates reports whether a layer uses positions.
func newCohereLike(b *nn.Builder, c *Config, run Run, s llamaShape, qkNorm bool, rotates func(i int) bool) *llama {
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		attn := &cohereAttention{llamaAttention: newLlamaAttention(b, m, at+".self_attn", s)}
		attn.dropout, attn.rotate, attn.window = c.Float("attention_dropout", 0), cohereRotary, s.masks.windows[i]
		attn.unrotated = !rotates(i)
		if qkNorm {
			attn.qNorm = newCohereNorm(b, at+".self_attn.q_norm", s.heads, s.dim)
			attn.kNorm = newCohereNorm(b, at+".self_attn.k_norm", s.kv, s.dim)
		}
		return &cohereLayer{
			Path: shadow.Path(at), attn: attn,
			mlp:   newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act),
			input: newCohereNorm(b, at+".input_layernorm", s.hidden),
		}
	})
	m.norm = newCohereNorm(b, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.rotary.full.pairs = true
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, true)
	m.head.scaled = true
	return m
}

type cohereLayer struct {
	shadow.Path
	attn  *cohereAttention
	mlp   *llamaMLP
	input *cohereNorm
}

func (l *cohereLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, w.Call(l.input, hidden))
	attended, weights := w.Call2(l.attn, hidden)
	fn.Let(attended)
	fn.Let(weights)
	feed := fn.Let(w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(attended).Add(feed))
	return hidden
}

type cohereAttention struct {
	*llamaAttention
	qNorm, kNorm *cohereNorm // nil if there is no norm
}

func (a *cohereAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	w, B, S := hidden.World(), hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim)) // (B, S, H, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.headDim))   // (B, S, Hkv, D)
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim)) // (B, S, Hkv, D)
	if a.qNorm != nil {
		fn.Set(&query, w.Call(a.qNorm, query))
		fn.Set(&key, w.Call(a.kNorm, key))
	}
	fn.Set(&query, query.Transpose(1, 2))
	fn.Set(&key, key.Transpose(1, 2))
	fn.Set(&value, value.Transpose(1, 2))
	return a.attend(fn, &query, &key, value)
}

// cohereRotary is Cohere's apply_rotary_pos_emb, in float32.
func cohereRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	dtype := q.DType()
	fn.Set(&q, q.Float())
	fn.Set(&k, k.Float())
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	qe := fn.Let(q.Mul(cos).Add(rotateNeighbors(q).Mul(sin)))
	ke := fn.Let(k.Mul(cos).Add(rotateNeighbors(k).Mul(sin)))
	return fn.Return2(qe.To(dtype), ke.To(dtype))
}

// cohereNorm is CohereLayerNorm: without a bias, computed in float32, then cast back.
type cohereNorm struct {
	shadow.Path
	weight *shadow.Tensor
}

func newCohereNorm(b *nn.Builder, at string, size ...int) *cohereNorm {
	return &cohereNorm{shadow.Path(at), b.Parameter(at+".weight", size...)}
}

// Forward is the module's forward.
func (n *cohereNorm) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	dtype := hidden.DType()
	fn.Set(&hidden, hidden.To(shadow.Float32))
	mean := fn.Let(hidden.Mean(true, -1))
	variance := fn.Let(hidden.Sub(mean).Pow().Mean(true, -1))
	fn.Set(&hidden, hidden.Sub(mean).Mul(variance.AddScalar().Rsqrt()))
	fn.Set(&hidden, n.weight.To(shadow.Float32).Mul(hidden))
	return hidden.To(dtype)
}
