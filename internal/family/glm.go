// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// GLM: transformers/models/glm/modular_glm.py. It is Llama with Phi-3's MLP; in half of each head, pairs of
// neighboring elements are rotated.

func newGLM(b *nn.Builder, c *Config, run Run) (Model, error) {
	s := readGLM(c)
	return newGLMLike(b, c, run, s, func(m *llama, _ int, at string) shadow.Module {
		return &llamaLayer{
			Path: shadow.Path(at), attn: newGLMAttention(b, c, m, at, s),
			mlp:       newGLMMLP(b, c, run, at+".mlp", s),
			inputNorm: newRMSNorm(b, run, at+".input_layernorm", s.hidden),
			postNorm:  newRMSNorm(b, run, at+".post_attention_layernorm", s.hidden),
		}
	}), nil
}

// readGLM reads the keys of GLM and GLM-4.
func readGLM(c *Config) llamaShape {
	s := readDecoder(c, llamaShape{hidden: 4096, layers: 40, heads: 32, kv: 2, inter: 13696, vocab: 151552})
	s.dim = c.Positive("head_dim", 128)
	s.qkvBias = c.Bool("attention_bias", true)
	return s
}

// newGLMLike makes GlmForCausalLM or Glm4ForCausalLM.
func newGLMLike(b *nn.Builder, c *Config, run Run, s llamaShape, layer func(m *llama, i int, at string) shadow.Module) *llama {
	m := newStack(b, run, s, layer)
	m.norm = newRMSNorm(b, run, "model.norm", s.hidden)
	m.rotary = sharedRotary(b, c, c.rotaryDim(s.dim, "partial_rotary_factor", 0.5))
	m.head = newCausalHead(b, c, run, s.hidden, m.embed, false)
	return m
}

func newGLMAttention(b *nn.Builder, c *Config, m *llama, at string, s llamaShape) *llamaAttention {
	attn := newLlamaAttention(b, m, at+".self_attn", s)
	attn.dropout, attn.rotate = c.Float("attention_dropout", 0), pairRotary
	return attn
}

func newGLMMLP(b *nn.Builder, c *Config, run Run, at string, s llamaShape) *phi3MLP {
	return &phi3MLP{
		Path: shadow.Path(at), act: c.activation("hidden_act", "silu"), liger: run.liger("mlp"),
		gateUp: b.Linear(at+".gate_up_proj", s.hidden, 2*s.inter, false),
		down:   b.Linear(at+".down_proj", s.inter, s.hidden, false),
	}
}

// pairRotary is GLM's apply_rotary_pos_emb.
func pairRotary(q, k, cos, sin *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	fn := q.World().Func(q, k, cos, sin)
	fn.Set(&cos, cos.Unsqueeze(1))
	fn.Set(&sin, sin.Unsqueeze(1))
	fn.Set(&cos, cos.Slice(-1, 0, cos.Size(-1)/2).RepeatInterleave(2, -1))
	fn.Set(&sin, sin.Slice(-1, 0, sin.Size(-1)/2).RepeatInterleave(2, -1))
	d, all := cos.Size(-1), q.Size(-1)
	qRot, qPass := fn.Let(q.Slice(-1, 0, d)), fn.Let(q.Slice(-1, d, all))
	kRot, kPass := fn.Let(k.Slice(-1, 0, d)), fn.Let(k.Slice(-1, d, all))
	qe := fn.Let(qRot.Mul(cos).Add(rotateNeighbors(qRot).Mul(sin)))
	ke := fn.Let(kRot.Mul(cos).Add(rotateNeighbors(kRot).Mul(sin)))
	fn.Set(&qe, shadow.Cat(-1, qe, qPass))
	fn.Set(&ke, shadow.Cat(-1, ke, kPass))
	return fn.Return2(qe, ke)
}

// rotateNeighbors is rotate_half for models that rotate neighboring elements: stack((-x2, x1)), flattened.
func rotateNeighbors(x *shadow.Tensor) *shadow.Tensor {
	fn := x.World().Func(x)
	d := x.Size(-1)
	x1 := fn.Let(x.SliceStep(-1, 0, d, 2))
	x2 := fn.Let(x.SliceStep(-1, 1, d, 2))
	stacked := shadow.Stack(-1, x2.Neg(), x1)
	return fn.Return(stacked.View(x.Size(0), x.Size(1), x.Size(2), d))
}
