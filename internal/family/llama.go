// SPDX-License-Identifier: Apache-2.0

package family

import (
	"cmp"
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Llama: transformers/models/llama/modeling_llama.py.

type llama struct {
	net
	embed     *nn.Embedding
	embedDrop nn.Dropout
	renamed   bool // the dropout's result replaces the embeddings' variable, so the embeddings are freed
	scaled    bool // embeddings are scaled
	rescaled  bool // embeddings are scaled after the masks are made
	bothWays  bool // tokens attend to later tokens too, unless a mask prevents it
	layers    []shadow.Module
	norm      shadow.Module
	rotary    layerRotary
	masks     *layerMasks
	pos       *shadow.Tensor // position ids of the current forward
	head      *causalHead
}

// llamaShape holds the differences between Llama-like families.
type llamaShape struct {
	hidden, layers, heads, kv, dim, inter, vocab int
	qkvBias, oBias, mlpBias                      bool
	headNorm                                     bool      // queries and keys are normalized per head
	moe                                          *moeShape // experts instead of the MLP
	masks                                        layerMasks

	attention func(a *llamaAttention) shadow.Module2 // replaces Llama's attention, if set
}

func newLlama(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := llamaShape{
		hidden: c.Positive("hidden_size", 4096), layers: c.Int("num_hidden_layers", 32),
		heads: c.Positive("num_attention_heads", 32),
		inter: c.Positive("intermediate_size", 11008), vocab: c.Positive("vocab_size", 32000),
		mlpBias: c.Bool("mlp_bias", false),
	}
	s.kv = c.kvHeads(s.heads, s.heads)
	s.dim = c.headDim(s.hidden, s.heads)
	s.qkvBias = c.Bool("attention_bias", false)
	s.oBias = s.qkvBias
	s.masks = sameWindow(s.layers, 0)
	return newDecoder(b, c, run, s), nil
}

// newDecoder makes the model from transformers' modules, or from those of the library that the run uses.
func newDecoder(b *nn.Builder, c *Config, run Run, s llamaShape) Model {
	switch {
	case run.Torchtune:
		return newTorchtune(b, c, run, s)
	case run.LitGPT.On:
		return newLitGPT(b, run, s)
	}
	return newLlamaLike(b, c, run, s)
}

// newLlamaLike makes LlamaForCausalLM.
func newLlamaLike(b *nn.Builder, c *Config, run Run, s llamaShape) *llama {
	m := &llama{net: net{b.W, run}, masks: &s.masks}
	act := c.activation("hidden_act", "silu")
	drop := c.Float("attention_dropout", 0)
	m.embed = b.Embedding(run.at("embed_tokens"), s.vocab, s.hidden)
	for i := range s.layers {
		at := fmt.Sprintf("%s.%d", run.at("layers"), i)
		l := &llamaLayer{Path: shadow.Path(at)}
		attn := newLlamaAttention(b, m, at+".self_attn", s)
		attn.dropout, attn.window = drop, s.masks.windows[i]
		if s.headNorm {
			attn.qNorm = newRMSNorm(b, run, at+".self_attn.q_norm", s.dim)
			attn.kNorm = newRMSNorm(b, run, at+".self_attn.k_norm", s.dim)
		}
		l.attn = attn
		if s.attention != nil {
			l.attn = s.attention(attn)
		}
		if s.moe != nil && s.moe.sparse(i) {
			l.mlp = newExperts(b, run, at, s.hidden, *s.moe, act)
		} else {
			l.mlp = newLlamaMLP(b, run, at+".mlp", s.hidden, s.inter, s.mlpBias, act)
		}
		l.inputNorm = newRMSNorm(b, run, at+".input_layernorm", s.hidden)
		l.postNorm = newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden)
		m.layers = append(m.layers, l)
	}
	m.norm = newRMSNorm(b, run, run.at("norm"), s.hidden)
	m.rotary = sharedRotary(b, c, s.dim)
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m
}

// readDecoder reads the keys that most decoders share. usual has the defaults; if its kv is 0, the default is the
// number of heads.
func readDecoder(c *Config, usual llamaShape) llamaShape {
	s := llamaShape{
		hidden: c.Positive("hidden_size", usual.hidden), layers: c.Int("num_hidden_layers", usual.layers),
		heads: c.Positive("num_attention_heads", usual.heads),
		inter: c.Positive("intermediate_size", usual.inter), vocab: c.Positive("vocab_size", usual.vocab),
	}
	s.kv = c.kvHeads(s.heads, cmp.Or(usual.kv, s.heads))
	s.dim = c.headDim(s.hidden, s.heads)
	s.masks = sameWindow(s.layers, 0)
	return s
}

// newStack makes LlamaModel up to its layers, which it makes by calling layer.
func newStack(b *nn.Builder, run Run, s llamaShape, layer func(m *llama, i int, at string) shadow.Module) *llama {
	m := &llama{net: net{b.W, run}, masks: &s.masks}
	m.embed = b.Embedding(run.at("embed_tokens"), s.vocab, s.hidden)
	for i := range s.layers {
		m.layers = append(m.layers, layer(m, i, fmt.Sprintf("%s.%d", run.at("layers"), i)))
	}
	return m
}

func (m *llama) Batch() Batch { return m.textBatch() }

// Loss is LlamaForCausalLM.forward.
func (m *llama) Loss(b Batch) *shadow.Tensor { return m.head.loss(m.forward(b), b) }

// forward is LlamaModel.forward.
func (m *llama) forward(b Batch) *shadow.Tensor {
	return m.fromEmbeds(textInput{embeds: m.embed.Call(b.IDs), mask: b.Mask})
}

// textInput has the arguments of a text model that is part of a larger one.
type textInput struct {
	embeds, mask *shadow.Tensor
	pos          *shadow.Tensor // position_ids; nil if they are counted from 0
	masked       bool           // the caller has made the masks of the layers
}

// fromEmbeds is the rest of LlamaModel.forward, called with inputs_embeds.
func (m *llama) fromEmbeds(in textInput) *shadow.Tensor {
	embeds := in.embeds
	fn := m.w.Func(embeds)
	if m.scaled {
		fn.Set(&embeds, embeds.MulScalar())
	}
	m.pos = fn.Let(in.pos)
	m.w.Local(&m.pos)
	if m.pos == nil {
		m.pos = positions(fn, m.w, m.run.Seq)
	}
	pos := m.pos
	if !in.masked {
		m.masks.create(fn, m.net, embeds, in.mask, pos)
	}
	if m.rescaled {
		fn.Set(&embeds, embeds.MulScalar())
	}
	if m.renamed {
		fn.Set(&embeds, m.embedDrop.Call(embeds))
	}
	hidden := fn.Let(m.dropped(embeds))
	m.rotary.create(fn, hidden, pos)
	for i, l := range m.layers {
		window := m.masks.windows[i]
		r := m.rotary.of(window)
		fn.Set(&hidden, m.layer(l, hidden, pos, r.cos, r.sin, m.masks.of(window)))
	}
	fn.Set(&hidden, m.w.Call(m.norm, hidden))
	return fn.Return(hidden)
}

// dropped applies dropout; the embeddings stay alive.
func (m *llama) dropped(embeds *shadow.Tensor) *shadow.Tensor {
	if m.renamed {
		return embeds
	}
	return m.embedDrop.Call(embeds)
}

type llamaLayer struct {
	shadow.Path
	attn                shadow.Module2
	mlp                 shadow.Module
	inputNorm, postNorm shadow.Module
}

func (l *llamaLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, w.Call(l.inputNorm, hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, residual.Add(hidden))
	fn.Set(&residual, hidden)
	fn.Set(&hidden, w.Call(l.postNorm, hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, residual.Add(hidden))
	return hidden
}

type llamaAttention struct {
	shadow.Path
	m            *llama
	q, k, v, o   *nn.Linear
	qNorm, kNorm *rmsNorm // in Qwen3
	headDim      int
	window       int // 0 means no window
	dropout      float64
	softcap      bool
	rotate       rotation // nil means Llama's apply_rotary_pos_emb
	unrotated    bool     // the layer does not use positions
	outDrop      nn.Dropout
	sinks        *shadow.Tensor // one more score per head, which belongs to no token, in gpt-oss
}

func newLlamaAttention(b *nn.Builder, m *llama, at string, s llamaShape) *llamaAttention {
	a := &llamaAttention{
		Path: shadow.Path(at), m: m, headDim: s.dim,
		q: b.Linear(at+".q_proj", s.hidden, s.heads*s.dim, s.qkvBias),
		k: b.Linear(at+".k_proj", s.hidden, s.kv*s.dim, s.qkvBias),
		v: b.Linear(at+".v_proj", s.hidden, s.kv*s.dim, s.qkvBias),
		o: b.Linear(at+".o_proj", s.heads*s.dim, s.hidden, s.oBias),
	}
	for _, l := range []*nn.Linear{a.q, a.k, a.v, a.o} {
		l.Fused = m.run.unsloth("lora")
	}
	return a
}

func (a *llamaAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	if a.q.Fuses(hidden) && a.k.Fuses(hidden) && a.v.Fuses(hidden) {
		return a.fused(fn, hidden)
	}
	query, key, value := a.project(fn, hidden)
	return a.attend(fn, &query, &key, value)
}

// project is the start of the forward: it binds queries, keys and values to variables of the frame.
func (a *llamaAttention) project(fn *shadow.Frame, hidden *shadow.Tensor) (query, key, value *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query = fn.Let(a.qNorm.orNone(a.q.Call(hidden).View(B, S, -1, a.headDim)).Transpose(1, 2)) // (B, H, S, D)
	key = fn.Let(a.kNorm.orNone(a.k.Call(hidden).View(B, S, -1, a.headDim)).Transpose(1, 2))   // (B, Hkv, S, D)
	value = fn.Let(a.v.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))                 // (B, Hkv, S, D)
	return query, key, value
}

// fused is the forward with Unsloth's function for queries, keys and values.
func (a *llamaAttention) fused(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	all := nn.FusedLoras(hidden, a.q, a.k, a.v)
	for i, t := range all {
		all[i] = fn.Let(t.View(B, S, -1, a.headDim).Transpose(1, 2))
	}
	return a.attend(fn, &all[0], &all[1], all[2])
}

// attend is the rest of the forward, starting with the rotation. It runs in the same frame, and rebinds the
// variables for queries and keys.
func (a *llamaAttention) attend(fn *shadow.Frame, query, key **shadow.Tensor, value *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	if !a.unrotated {
		q, k := a.m.applyRotary(*query, *key, a.window, a.rotate)
		fn.Set2(query, q, key, k)
	}
	return a.finish(fn, *query, key, value)
}

// finish is the rest of the forward after the rotation.
func (a *llamaAttention) finish(fn *shadow.Frame, query *shadow.Tensor, key **shadow.Tensor, value *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	var out *shadow.Tensor
	weights := a.mix(fn, &out, query, key, value)
	fn.Set(&out, a.o.Call(out))
	fn.Set(&out, a.outDrop.Call(out))
	return out, weights
}

// mix runs the attention function. It sets out, (B, S, H·D), and returns the attention weights.
func (a *llamaAttention) mix(fn *shadow.Frame, out **shadow.Tensor, query *shadow.Tensor, key **shadow.Tensor, value *shadow.Tensor) *shadow.Tensor {
	B, S := value.Size(0), value.Size(2)
	a.m.cached(fn, key, &value, a.window)
	if a.m.run.repeats {
		groups := query.Size(1) / (*key).Size(1)
		fn.Set(key, repeatKV(*key, groups))
		fn.Set(&value, repeatKV(value, groups))
	}

	o, weights := a.m.attention(query, *key, value, attending{
		mask: a.m.masks.of(a.window), causal: !a.m.bothWays, dropout: a.dropout, softcap: a.softcap, sinks: a.sinks,
	})
	fn.Set(out, o) // (B, S, H, D)
	fn.Let(weights)
	fn.Set(out, (*out).Reshape(B, S, -1).Contiguous())
	return weights
}

type llamaMLP struct {
	shadow.Path
	act            activation
	liger          bool
	gate, up, down *nn.Linear
}

func newLlamaMLP(b *nn.Builder, run Run, at string, hidden, inter int, bias bool, act activation) *llamaMLP {
	return &llamaMLP{
		Path: shadow.Path(at), act: act, liger: run.liger("mlp"),
		gate: b.Linear(at+".gate_proj", hidden, inter, bias),
		up:   b.Linear(at+".up_proj", hidden, inter, bias),
		down: b.Linear(at+".down_proj", inter, hidden, bias),
	}
}

func (m *llamaMLP) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	if m.liger {
		return m.down.Call(m.gate.Call(x).LigerGLU(m.up.Call(x)))
	}
	return m.down.Call(m.act(m.gate.Call(x)).Mul(m.up.Call(x)))
}

// rmsNorm is LlamaRMSNorm: it normalizes in float32, casts back, then scales.
type rmsNorm struct {
	shadow.Path
	weight *shadow.Tensor

	liger, unsloth bool
}

func newRMSNorm(b *nn.Builder, run Run, at string, width int) *rmsNorm {
	return &rmsNorm{Path: shadow.Path(at), weight: b.Parameter(at+".weight", width), liger: run.liger("norm"), unsloth: run.unsloth("norm")}
}

func (n *rmsNorm) Call(x *shadow.Tensor) *shadow.Tensor { return x.World().Call(n, x) }

// orNone applies the norm, or returns x if n is nil.
func (n *rmsNorm) orNone(x *shadow.Tensor) *shadow.Tensor {
	if n == nil {
		return x
	}
	return n.Call(x)
}

func (n *rmsNorm) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	if n.liger {
		return hidden.LigerRMSNorm(n.weight, true)
	}
	if n.unsloth {
		return hidden.UnslothRMSNorm(n.weight)
	}
	dtype := hidden.DType()
	fn.Set(&hidden, hidden.To(shadow.Float32))
	variance := fn.Let(hidden.Pow().Mean(true, -1))
	fn.Set(&hidden, hidden.Mul(variance.AddScalar().Rsqrt()))
	return n.weight.Mul(hidden.To(dtype))
}
