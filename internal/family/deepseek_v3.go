// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// DeepSeek-V3: transformers/models/deepseek_v3/modeling_deepseek_v3.py. Queries, keys and values pass through narrow
// layers (multi-head latent attention), and experts are chosen within groups.

// mlaShape holds the sizes of multi-head latent attention.
type mlaShape struct {
	hidden, heads            int
	qRank, kvRank            int // widths of the narrow layers; qRank 0 means that queries have none
	rotated, unrotated, wide int // elements per head: rotated and unrotated ones in queries and keys, and those in values
	bias                     bool
	dropout                  float64
}

func (c *Config) mla(s llamaShape, qRank int) mlaShape {
	a := mlaShape{
		hidden: s.hidden, heads: s.heads, kvRank: c.Positive("kv_lora_rank", 512),
		rotated: c.Positive("qk_rope_head_dim", 64), unrotated: c.Positive("qk_nope_head_dim", 128), wide: c.Positive("v_head_dim", 128),
		bias: c.Bool("attention_bias", false), dropout: c.Float("attention_dropout", 0),
	}
	if !c.null("q_lora_rank") {
		a.qRank = c.Positive("q_lora_rank", qRank)
	}
	return a
}

func newDeepSeekV3(b *nn.Builder, c *Config, run Run) (Model, error) {
	c.alias("num_local_experts", "n_routed_experts")
	usual := llamaShape{hidden: 7168, layers: 61, heads: 128, kv: 128, inter: 18432, vocab: 129280}
	moe := groupedShape{
		moeShape: moeShape{experts: c.experts("num_local_experts", 256), chosen: c.Positive("num_experts_per_tok", 8), inter: c.Positive("moe_intermediate_size", 2048), normalized: c.Bool("norm_topk_prob", true)},
		groups:   c.Positive("n_group", 8), kept: c.Positive("topk_group", 4),
		shared: c.Positive("n_shared_experts", 1), dense: c.Int("first_k_dense_replace", 3),
	}
	var rotate rotation
	if c.Bool("rope_interleave", true) {
		rotate = interleavedRotary
	}
	return newDeepSeek(b, c, run, usual, moe, rotate)
}

// newDeepSeek makes DeepSeek-V2 or DeepSeek-V3.
func newDeepSeek(b *nn.Builder, c *Config, run Run, usual llamaShape, moe groupedShape, rotate rotation) (*llama, error) {
	if run.Transformers != 0 && run.Transformers < expertModules {
		return nil, refuse("versions.transformers", "%s is simulated only for transformers 5; use 5", c.ModelType())
	}
	if run.Attention == "flash" {
		return nil, refuse("attention", "flash attention is not simulated for %s; use sdpa", c.ModelType())
	}
	s := readDecoder(c, usual)
	if s.kv != s.heads {
		c.fail("num_key_value_heads", "equal to num_attention_heads")
	}
	moe.check(c)
	mla := c.mla(s, 1536)
	act := c.activation("hidden_act", "silu")
	m := newStack(b, run, s, func(m *llama, i int, at string) shadow.Module {
		l := &llamaLayer{Path: shadow.Path(at), attn: newMLA(b, m, at+".self_attn", mla, rotate)}
		if i >= moe.dense {
			l.mlp = newSharedExperts(b, run, at+".mlp", s.hidden, moe, act)
		} else {
			l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, false, act)
		}
		l.inputNorm = newRMSNorm(b, run, at+".input_layernorm", s.hidden)
		l.postNorm = newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden)
		return l
	})
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, mla.rotated)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m, nil
}

// mlaAttention is DeepseekV3Attention.
type mlaAttention struct {
	shadow.Path
	mlaShape
	m            *llama
	q            *nn.Linear // nil if queries have a narrow layer
	qA, qB       *nn.Linear
	kvA, kvB, o  *nn.Linear
	qNorm, kNorm *rmsNorm
	rotate       rotation // nil means Llama's apply_rotary_pos_emb
}

func newMLA(b *nn.Builder, m *llama, at string, s mlaShape, rotate rotation) *mlaAttention {
	a := &mlaAttention{Path: shadow.Path(at), mlaShape: s, m: m, rotate: rotate}
	head := s.unrotated + s.rotated
	if s.qRank == 0 {
		a.q = b.Linear(at+".q_proj", s.hidden, s.heads*head, false)
	} else {
		a.qA = b.Linear(at+".q_a_proj", s.hidden, s.qRank, s.bias)
		a.qNorm = newRMSNorm(b, m.run, at+".q_a_layernorm", s.qRank)
		a.qB = b.Linear(at+".q_b_proj", s.qRank, s.heads*head, false)
	}
	a.kvA = b.Linear(at+".kv_a_proj_with_mqa", s.hidden, s.kvRank+s.rotated, s.bias)
	a.kNorm = newRMSNorm(b, m.run, at+".kv_a_layernorm", s.kvRank)
	a.kvB = b.Linear(at+".kv_b_proj", s.kvRank, s.heads*(s.unrotated+s.wide), false)
	a.o = b.Linear(at+".o_proj", s.heads*s.wide, s.hidden, s.bias)
	return a
}

func (a *mlaAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.queries(hidden))
	fn.Set(&query, query.View(B, S, -1, a.unrotated+a.rotated).Transpose(1, 2)) // (B, H, S, D)
	parts := query.Split(-1, a.unrotated, a.rotated)
	pass, rot := fn.Let(parts[0]), fn.Let(parts[1])
	compressed := fn.Let(a.kvA.Call(hidden))
	parts = compressed.Split(-1, a.kvRank, a.rotated)
	latent, keyRot := fn.Let(parts[0]), fn.Let(parts[1])
	fn.Set(&latent, a.kNorm.Call(latent))
	fn.Set(&latent, latent.View(B, 1, S, a.kvRank))
	fn.Set(&keyRot, keyRot.View(B, 1, S, a.rotated))
	q, k := a.m.applyRotary(rot, keyRot, 0, a.rotate)
	fn.Set2(&rot, q, &keyRot, k)
	a.m.cached(fn, &latent, &keyRot, 0)
	all := fn.Let(shadow.Cat(-1, pass, rot)) // (B, H, S, D)
	key, value := fn.Let2(a.expand(latent, keyRot))
	out, weights := a.m.attention(all, key, value, attending{mask: a.m.masks.of(0), causal: true, dropout: a.dropout})
	fn.Let(out) // (B, S, H, V)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

func (a *mlaAttention) queries(hidden *shadow.Tensor) *shadow.Tensor {
	if a.q != nil {
		return a.q.Call(hidden)
	}
	return a.qB.Call(a.qNorm.Call(a.qA.Call(hidden)))
}

// expand is expand_kv: it computes keys and values from the latent states, and copies both parts of the keys into one
// tensor.
func (a *mlaAttention) expand(latent, rot *shadow.Tensor) (key, value *shadow.Tensor) {
	fn := latent.World().Func(latent, rot)
	B, S := latent.Size(0), latent.Size(2)
	both := fn.Let(a.kvB.Call(latent).View(B, S, -1, a.unrotated+a.wide).Transpose(1, 2)) // (B, H, S, N + V)
	parts := both.Split(-1, a.unrotated, a.wide)
	pass, value := fn.Let(parts[0]), fn.Let(parts[1])
	fn.Set(&rot, rot.Expand(-1, a.heads, -1, -1))
	key = fn.Let(latent.World().Empty(shadow.Dims(B, a.heads, S, a.unrotated+a.rotated), both.DType()))
	key.CopySlice(pass)
	key.CopySlice(rot)
	return fn.Return2(key, value)
}

// interleavedRotary is apply_rotary_pos_emb_interleave.
func interleavedRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	d := cos.Size(-1)
	fn.Set(&cos, cos.Slice(-1, 0, d/2).Unsqueeze(1))
	fn.Set(&sin, sin.Slice(-1, 0, d/2).Unsqueeze(1))
	q1, q2 := fn.Let(q.SliceStep(-1, 0, d, 2)), fn.Let(q.SliceStep(-1, 1, d, 2))
	k1, k2 := fn.Let(k.SliceStep(-1, 0, d, 2)), fn.Let(k.SliceStep(-1, 1, d, 2))
	rotated := func(one, two *shadow.Tensor) *shadow.Tensor {
		first := one.Mul(cos).Sub(two.Mul(sin)).Hold()
		out := shadow.Cat(-1, first, two.Mul(cos).Add(one.Mul(sin)))
		first.Drop()
		return out
	}
	qe := fn.Let(rotated(q1, q2))
	ke := fn.Let(rotated(k1, k2))
	return fn.Return2(qe, ke)
}
