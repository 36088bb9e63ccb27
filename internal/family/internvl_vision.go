// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// InternVL's vision tower: InternVLVisionModel in transformers/models/internvl/modeling_internvl.py.

type internVision struct {
	net
	b                *nn.Builder
	size             towerSize
	class, positions *shadow.Tensor
	patches          *nn.Conv2d
	dropout          nn.Dropout
	layers           []*internLayer
	norm             *nn.LayerNorm // nil if use_mean_pooling is on
}

func newInternVision(b *nn.Builder, c *Config, run Run, at string) *internVision {
	hidden := c.Positive("hidden_size", 1024)
	m := &internVision{net: net{b.W, run}, b: b, size: readInternSize(c, hidden), dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0))}
	c.refuse("use_mask_token")
	m.class = b.Parameter(at+".embeddings.cls_token", 1, 1, hidden)
	m.patches = b.Conv2d(at+".embeddings.patch_embeddings.projection", m.size.channels, hidden, m.size.patch, shadow.Conv{Stride: m.size.patch, Groups: 1}, true)
	if c.Bool("use_absolute_position_embeddings", true) {
		m.positions = b.Parameter(at+".embeddings.position_embeddings", 1, m.size.side*m.size.side+1, hidden)
	}
	for i := range c.Int("num_hidden_layers", 24) {
		m.layers = append(m.layers, newInternLayer(b, c, m.net, fmt.Sprintf("%s.encoder.layer.%d", at, i), hidden))
	}
	if !c.Bool("use_mean_pooling", true) {
		m.norm = b.LayerNorm(at+".layernorm", hidden, true)
	}
	return m
}

// readInternSize reads sizes that are numbers or pairs of equal numbers.
func readInternSize(c *Config, width int) towerSize {
	for key, def := range map[string]int{"image_size": 448, "patch_size": 14} {
		if sides := c.Ints(key); len(sides) == 2 {
			if sides[0] != sides[1] {
				c.fail(key, "the same in both directions")
			}
			c.with(key, float64(sides[0]))
		}
		c.usual(map[string]any{key: float64(def)})
	}
	s := readTowerSize(c, width, 14)
	s.class = true
	return s
}

func (m *internVision) sizes() towerSize { return m.size }

// forward is InternVLVisionModel.forward.
func (m *internVision) forward(pixels *shadow.Tensor, states bool) towerOutputs {
	fn := m.w.Func(pixels)
	embeds := fn.Let(m.embed(pixels))
	out := towerOutputs{}
	if states {
		out.states = append(out.states, fn.Let(embeds))
	}
	inner := m.w.Func(embeds) // InternVLVisionEncoder.forward
	x := embeds
	for _, l := range m.layers {
		inner.Set(&x, m.block(l, x))
		if states {
			out.states = append(out.states, fn.Let(x))
		}
	}
	out.last = fn.Let(inner.Return(x))
	if m.norm != nil {
		fn.Set(&out.last, m.norm.Call(out.last))
	}
	return out.leave(fn)
}

// embed is InternVLVisionEmbeddings.forward.
func (m *internVision) embed(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	embeds := fn.Let(m.b.TowerInput(m.patchEmbed(pixels)))
	class := fn.Let(m.class.Expand(embeds.Size(0), -1, -1))
	fn.Set(&embeds, shadow.Cat(1, class, embeds)) // (B, N + 1, H)
	if m.positions != nil {
		fn.Set(&embeds, embeds.Add(m.positions))
	}
	fn.Set(&embeds, m.dropout.Call(embeds))
	return fn.Return(embeds)
}

// patchEmbed is InternVLVisionPatchEmbeddings.forward.
func (m *internVision) patchEmbed(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	embeds := fn.Let(m.w.Call(m.patches, pixels.To(m.patches.Weight.DType())))
	fn.Set(&embeds, embeds.Flatten(2).Transpose(1, 2))
	return fn.Return(embeds)
}

// internLayer is InternVLVisionLayer.
type internLayer struct {
	shadow.Path
	attn             *internAttention
	mlp              *vitMLP
	before, after    shadow.Module
	lambda1, lambda2 *shadow.Tensor
	dropout          nn.Dropout
}

func newInternLayer(b *nn.Builder, c *Config, n net, at string, hidden int) *internLayer {
	l := &internLayer{Path: shadow.Path(at), dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0)), attn: newInternAttention(b, c, n, at+".attention", hidden)}
	inter, act := c.Positive("intermediate_size", 4096), c.activation("hidden_act", "gelu")
	l.mlp = &vitMLP{Path: shadow.Path(at + ".mlp"), act: act, fc1: b.Linear(at+".mlp.fc1", hidden, inter, true), fc2: b.Linear(at+".mlp.fc2", inter, hidden, true)}
	norm := func(at string) shadow.Module { return b.LayerNorm(at, hidden, true) }
	switch c.String("norm_type", "layer_norm") {
	case "layer_norm":
	case "rms_norm":
		norm = func(at string) shadow.Module { return newRMSNorm(b, n.run, at, hidden) }
	default:
		c.fail("norm_type", "layer_norm or rms_norm")
	}
	l.before, l.after = norm(at+".layernorm_before"), norm(at+".layernorm_after")
	l.lambda1, l.lambda2 = b.Parameter(at+".lambda_1", hidden), b.Parameter(at+".lambda_2", hidden)
	return l
}

func (l *internLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	attended, weights := w.Call2(l.attn, w.Call(l.before, hidden))
	fn.Let(attended)
	fn.Let(weights)
	fn.Set(&attended, l.lambda1.Mul(attended))
	fn.Set(&hidden, attended.Add(hidden))
	out := fn.Let(w.Call(l.after, hidden))
	fn.Set(&out, w.Call(l.mlp, out))
	fn.Set(&out, l.dropout.Call(out))
	fn.Set(&out, l.lambda2.Mul(out))
	fn.Set(&out, out.Add(hidden))
	return out
}

// internAttention is InternVLVisionAttention.
type internAttention struct {
	shadow.Path
	net
	q, k, v, proj *nn.Linear
	qNorm, kNorm  *rmsNorm
	heads         int
	dropout       float64
	projDropout   nn.Dropout
}

func newInternAttention(b *nn.Builder, c *Config, n net, at string, hidden int) *internAttention {
	a := &internAttention{Path: shadow.Path(at), net: n, heads: c.Positive("num_attention_heads", 16), dropout: c.Float("attention_dropout", 0), projDropout: nn.Dropout(c.Float("projection_dropout", 0))}
	c.HeadDim(hidden, a.heads)
	bias := c.Bool("attention_bias", false)
	a.q = b.Linear(at+".q_proj", hidden, hidden, bias)
	a.k = b.Linear(at+".k_proj", hidden, hidden, bias)
	a.v = b.Linear(at+".v_proj", hidden, hidden, bias)
	a.proj = b.Linear(at+".projection_layer", hidden, hidden, true)
	if c.Bool("use_qk_norm", false) {
		a.qNorm, a.kNorm = newRMSNorm(b, n.run, at+".q_norm", hidden), newRMSNorm(b, n.run, at+".k_norm", hidden)
	}
	return a
}

func (a *internAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query, key, value := fn.Let(a.q.Call(hidden)), fn.Let(a.k.Call(hidden)), fn.Let(a.v.Call(hidden))
	fn.Set(&query, a.qNorm.orNone(query))
	fn.Set(&key, a.kNorm.orNone(key))
	for _, x := range []**shadow.Tensor{&query, &key, &value} {
		fn.Set(x, (*x).Reshape(B, S, a.heads, -1).Transpose(1, 2)) // (B, H, S, D)
	}
	out, weights := a.attend(query, key, value)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1))
	fn.Set(&out, a.proj.Call(out))
	fn.Set(&out, a.projDropout.Call(out))
	return out, weights
}

// attend is the attention function, whose eager softmax keeps the type of the scores.
func (a *internAttention) attend(q, k, v *shadow.Tensor) (out, weights *shadow.Tensor) {
	if a.run.Attention == "eager" {
		return a.plainEager(q, k, v, nil, a.dropout)
	}
	return a.attention(q, k, v, attending{dropout: a.dropout})
}
