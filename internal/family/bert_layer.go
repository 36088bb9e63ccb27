// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// The parts of a BERT layer, and its pooler.

// bertAttention is BertAttention with the BertSelfAttention inside it.
type bertAttention struct {
	shadow.Path
	self   *bertSelfAttention
	output *bertOutput
}

func newBertAttention(b *nn.Builder, n net, at string, cfg bertConfig) *bertAttention {
	return &bertAttention{
		Path: shadow.Path(at),
		self: &bertSelfAttention{
			Path: shadow.Path(at + ".self"), net: n, headDim: cfg.headDim, dropout: cfg.attnDropout,
			query: b.Linear(at+".self.query", cfg.hidden, cfg.heads*cfg.headDim, true),
			key:   b.Linear(at+".self.key", cfg.hidden, cfg.heads*cfg.headDim, true),
			value: b.Linear(at+".self.value", cfg.hidden, cfg.heads*cfg.headDim, true),
		},
		output: newBertOutput(b, at+".output", cfg.hidden, cfg),
	}
}

func (a *bertAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	out, weights := fn.Let2(hidden.World().Call2(a.self, hidden))
	fn.Set(&out, a.output.Call(out, hidden))
	return out, weights
}

type bertSelfAttention struct {
	shadow.Path
	net
	query, key, value *nn.Linear
	headDim           int
	dropout           float64
}

func (a *bertSelfAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.query.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	key := fn.Let(a.key.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))
	value := fn.Let(a.value.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2))
	if a.run.Prefix.tokens() > 0 {
		a.cached(fn, &key, &value, 0)
	}
	out, weights := fn.Let2(a.bothWays(query, key, value, a.dropout)) // (B, S, H, D)
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	return out, weights
}

// bertOutput is BertSelfOutput or BertOutput: a projection to the model's width, followed by dropout, the
// residual and the norm.
type bertOutput struct {
	shadow.Path
	dense   *nn.Linear
	norm    *nn.LayerNorm
	dropout nn.Dropout
	input   *shadow.Tensor
}

func newBertOutput(b *nn.Builder, at string, in int, cfg bertConfig) *bertOutput {
	return &bertOutput{
		Path:    shadow.Path(at),
		dense:   b.Linear(at+".dense", in, cfg.hidden, true),
		norm:    b.LayerNorm(at+".LayerNorm", cfg.hidden, true),
		dropout: nn.Dropout(cfg.dropout),
	}
}

// Call is output(hidden, input). The caller must keep input in a variable.
func (o *bertOutput) Call(hidden, input *shadow.Tensor) *shadow.Tensor {
	o.input = input
	return hidden.World().Call(o, hidden)
}

func (o *bertOutput) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, o.dense.Call(hidden))
	fn.Set(&hidden, o.dropout.Call(hidden))
	fn.Set(&hidden, o.norm.Call(hidden.Add(o.input)))
	return hidden
}

type bertIntermediate struct {
	shadow.Path
	dense *nn.Linear
	act   func(*shadow.Tensor) *shadow.Tensor
}

func newBertIntermediate(b *nn.Builder, at string, cfg bertConfig) *bertIntermediate {
	return &bertIntermediate{Path: shadow.Path(at), dense: b.Linear(at+".dense", cfg.hidden, cfg.inter, true), act: cfg.act}
}

func (m *bertIntermediate) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	fn.Set(&hidden, m.dense.Call(hidden))
	fn.Set(&hidden, m.act(hidden))
	return hidden
}

// bertPooler passes the first token through a dense layer. It is not trained unless the loss uses it.
type bertPooler struct {
	shadow.Path
	dense *nn.Linear
}

func newBertPooler(b *nn.Builder, at string, hidden int) *bertPooler {
	return &bertPooler{Path: shadow.Path(at), dense: b.Linear(at+".dense", hidden, hidden, true)}
}

func (p *bertPooler) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	first := fn.Let(hidden.Select(1, 0)) // (B, H)
	pooled := fn.Let(p.dense.Call(first))
	fn.Set(&pooled, pooled.Tanh())
	return pooled
}
