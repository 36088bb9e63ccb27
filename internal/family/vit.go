// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// ViT and DeiT: transformers/models/vit/modeling_vit.py and deit/modeling_deit.py.

type vit struct {
	net
	name                   string // the path of the model without its head
	side, channels, labels int
	embed                  *vitEmbeddings
	layers                 []*vitLayer
	norm                   *nn.LayerNorm
	pooler                 *firstPooler // nil with a head
	classifier             *nn.Linear   // nil without a head
}

func newViT(b *nn.Builder, c *Config, run Run) (Model, error) { return newViTLike(b, c, run, "vit") }

// newDeiT makes DeiT: ViT with another token, for distillation, after the class token.
func newDeiT(b *nn.Builder, c *Config, run Run) (Model, error) { return newViTLike(b, c, run, "deit") }

func newViTLike(b *nn.Builder, c *Config, run Run, name string) (Model, error) {
	hidden, heads := c.Positive("hidden_size", 768), c.Positive("num_attention_heads", 12)
	m := &vit{net: net{b.W, run}, name: name, side: c.Positive("image_size", ImageNetSide), channels: c.Positive("num_channels", 3), labels: c.labels()}
	m.embed = newViTEmbeddings(b, c, m, hidden)
	act := c.activation("hidden_act", "gelu")
	inter, bias := c.Positive("intermediate_size", 3072), c.Bool("qkv_bias", true)
	for i := range c.Int("num_hidden_layers", 12) {
		at := fmt.Sprintf("%slayers.%d", m.prefix(name), i)
		l := &vitLayer{Path: shadow.Path(at), dropout: m.embed.dropout}
		l.attn = &vitAttention{Path: shadow.Path(at + ".attention"), m: m, dropout: c.Float("attention_probs_dropout_prob", 0)}
		l.attn.dim = c.Int("head_dim", c.HeadDim(hidden, heads))
		l.attn.q = b.Linear(at+".attention.q_proj", hidden, heads*l.attn.dim, bias)
		l.attn.k = b.Linear(at+".attention.k_proj", hidden, heads*l.attn.dim, bias)
		l.attn.v = b.Linear(at+".attention.v_proj", hidden, heads*l.attn.dim, bias)
		l.attn.o = b.Linear(at+".attention.o_proj", heads*l.attn.dim, hidden, true)
		l.before = b.LayerNorm(at+".layernorm_before", hidden, true)
		l.after = b.LayerNorm(at+".layernorm_after", hidden, true)
		l.mlp = &vitMLP{
			Path: shadow.Path(at + ".mlp"), act: act,
			fc1: b.Linear(at+".mlp.fc1", hidden, inter, true),
			fc2: b.Linear(at+".mlp.fc2", inter, hidden, true),
		}
		m.layers = append(m.layers, l)
	}
	m.norm = b.LayerNorm(m.prefix(name)+"layernorm", hidden, true)
	switch {
	case run.Head != Encoder:
		m.classifier = b.Linear("classifier", hidden, m.labels, true)
	case c.Bool("add_pooling_layer", true):
		m.pooler = newFirstPooler(b, "pooler", hidden, c.Positive("pooler_output_size", hidden), c.activation("pooler_act", "tanh"))
	}
	return m, nil
}

// labels returns the number of classes; configs usually list them by name.
func (c *Config) labels() int {
	if names, ok := c.keys["id2label"].(map[string]any); ok && !c.Has("num_labels") {
		return max(len(names), 1)
	}
	return c.Positive("num_labels", 2)
}

func (m *vit) Batch() Batch {
	return Batch{
		Pixels: m.w.Input(shadow.Float32, m.run.Batch, m.channels, m.side, m.side),
		Labels: m.w.Input(shadow.Int64, m.run.Batch),
	}
}

// Loss is ViTForImageClassification.forward.
func (m *vit) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	sequence := fn.Let(m.forward(b.Pixels)) // (B, N + 1, H)
	if m.headless(sequence, m.pooler) {
		return fn.Return(nil)
	}
	pooled := fn.Let(sequence.Select(1, 0))     // (B, H)
	logits := fn.Let(m.classifier.Call(pooled)) // (B, labels)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(m.run.Calling.averaged(logits.View(-1, m.labels).CrossEntropy(b.Labels.View(-1))))
}

// forward is ViTModel.forward.
func (m *vit) forward(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	fn.Set(&pixels, pixels.To(m.embed.projection.Weight.DType()))
	hidden := fn.Let(m.w.Call(m.embed, pixels))
	fn.Let(hidden) // embedding_output
	for _, l := range m.layers {
		fn.Set(&hidden, m.layer(l, hidden))
	}
	return fn.Return(m.norm.Call(hidden))
}

// vitEmbeddings combines image patches, a class token and DeiT's distillation token before them, and positions.
type vitEmbeddings struct {
	shadow.Path
	b                *nn.Builder
	class, positions *shadow.Tensor
	distillation     *shadow.Tensor // nil in ViT
	projection       *nn.Conv2d
	dropout          nn.Dropout
}

func newViTEmbeddings(b *nn.Builder, c *Config, m *vit, hidden int) *vitEmbeddings {
	at, patch := m.prefix(m.name)+"embeddings", c.Positive("patch_size", 16)
	if patch > m.side {
		c.fail("patch_size", "at most the image's side")
		patch = m.side
	}
	e := &vitEmbeddings{Path: shadow.Path(at), b: b, dropout: nn.Dropout(c.Float("hidden_dropout_prob", 0))}
	e.class = b.Parameter(at+".cls_token", 1, 1, hidden)
	e.projection = b.Conv2d(at+".patch_embeddings.projection", m.channels, hidden, patch, shadow.Conv{Stride: patch, Groups: 1}, true)
	patches := (m.side / patch) * (m.side / patch)
	if m.name == "vit" {
		e.positions = b.Parameter(at+".position_embeddings", 1, patches+1, hidden)
		return e
	}
	e.positions = b.Parameter(at+".position_embeddings", 1, patches+2, hidden)
	e.distillation = b.Parameter(at+".distillation_token", 1, 1, hidden)
	return e
}

func (e *vitEmbeddings) Forward(fn *shadow.Frame, pixels *shadow.Tensor) *shadow.Tensor {
	w, B := pixels.World(), pixels.Size(0)
	patches := w.Call(e.projection, pixels) // (B, H, n, n)
	embeds := fn.Let(e.b.TowerInput(patches.View(B, patches.Size(1), -1).Transpose(1, 2)))
	tokens := []*shadow.Tensor{fn.Let(e.class.Expand(B, -1, -1))}
	if e.distillation != nil {
		tokens = append(tokens, fn.Let(e.distillation.Expand(B, -1, -1)))
	}
	fn.Set(&embeds, shadow.Cat(1, append(tokens, embeds)...)) // (B, N + 1, H), or (B, N + 2, H)
	fn.Set(&embeds, embeds.Add(e.positions))
	fn.Set(&embeds, e.dropout.Call(embeds))
	return embeds
}

type vitLayer struct {
	shadow.Path
	attn          *vitAttention
	before, after *nn.LayerNorm
	mlp           *vitMLP
	dropout       nn.Dropout
}

func (l *vitLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	w := hidden.World()
	residual := fn.Let(hidden)
	fn.Set(&hidden, l.before.Call(hidden))
	out, weights := w.Call2(l.attn, hidden)
	fn.Set(&hidden, out)
	fn.Let(weights)
	fn.Set(&hidden, l.dropout.Call(hidden))
	fn.Set(&hidden, hidden.Add(residual))

	fn.Set(&residual, hidden)
	fn.Set(&hidden, l.after.Call(hidden))
	fn.Set(&hidden, w.Call(l.mlp, hidden))
	fn.Set(&hidden, l.dropout.Call(hidden))
	fn.Set(&hidden, hidden.Add(residual))
	return hidden
}

type vitAttention struct {
	shadow.Path
	m          *vit
	q, k, v, o *nn.Linear
	dim        int
	dropout    float64
}

func (a *vitAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2)) // (B, H, S, D)
	key := fn.Let(a.k.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2))
	value := fn.Let(a.v.Call(hidden).View(B, S, -1, a.dim).Transpose(1, 2))
	out, weights := a.m.attention(query, key, value, attending{dropout: a.dropout}) // (B, S, H, D)
	fn.Let(out)
	fn.Let(weights)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.o.Call(out))
	return out, weights
}

type vitMLP struct {
	shadow.Path
	act      activation
	fc1, fc2 *nn.Linear
}

func (m *vitMLP) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.fc1.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	fn.Set(&hidden, m.fc2.Call(hidden))
	return hidden
}
