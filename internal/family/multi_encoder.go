// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// An embedding model for records with several text fields: one BERT with LoRA for each field, their mean-pooled
// outputs concatenated, a mixture of experts and a projection. It is trained to move an anchor toward its
// positives and away from its negatives.

type multiEncoder struct {
	net
	encoders []*bert
	moe      *mixture
	proj     *nn.Linear
}

func newMultiEncoder(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Positives < 1 || run.Negatives < 1 {
		return nil, refuse("positives", "a multi-encoder needs at least 1 positive and 1 negative")
	}
	channels := c.Positive("channels", 4)
	hidden := c.Positive("hidden_size", 384)
	dt := b.DType
	b.DType = shadow.Float32 // built in float32; a 16-bit model is cast as a whole below
	m := &multiEncoder{net: net{b.W, run}}
	rows := run
	rows.Head, rows.Mask = "encoder", true
	for i := range channels {
		m.encoders = append(m.encoders, newLoraEncoder(b.Within(fmt.Sprintf("enc.%d", i)), c, rows))
	}
	m.moe = newMixture(b, c, "moe", channels*hidden)
	m.proj = b.Linear("proj", channels*hidden, hidden, true)
	if b.DType = dt; dt.Half() {
		b.CastParameters(dt)
	}
	return m, nil
}

// newLoraEncoder makes a frozen BERT with adapters.
func newLoraEncoder(b *nn.Builder, c *Config, run Run) *bert {
	m := newBertModel(b, encoderConfig(c), run)
	lora := nn.Lora{Rank: c.Positive("lora_rank", 8), Targets: map[string]bool{}}
	targets := c.Strings("lora_targets")
	if targets == nil {
		targets = []string{"query", "value"}
	}
	for _, t := range targets {
		lora.Targets[t] = true
	}
	b.AddLora(lora)
	if run.Checkpointing {
		b.EnableInputRequireGrads()
	}
	return m
}

// encoderConfig returns BERT's configuration with the widths of a small encoder.
func encoderConfig(c *Config) bertConfig {
	cfg := readBertOf(c, bertConfig{vocab: 30522, hidden: 384, heads: 12, inter: 1536})
	cfg.layers = c.Int("num_hidden_layers", 6)
	return cfg
}

// Batch is empty, because Loss makes the tokens.
func (m *multiEncoder) Batch() Batch { return Batch{} }

// Loss returns the contrastive loss of anchors against positives and negatives.
func (m *multiEncoder) Loss(Batch) *shadow.Tensor {
	fn := m.w.Func()
	rows, P, N, S := m.run.Batch, m.run.Positives, m.run.Negatives, m.run.Seq
	B := rows / m.run.Rows()
	toks := make([]*shadow.Tensor, len(m.encoders))
	for i := range toks {
		toks[i] = fn.Let(m.w.RandInt(rows, S))
	}
	mask := fn.Let(m.w.Full(shadow.Int64, rows, S))
	e := fn.Let(m.embed(toks, mask).Float().Normalize()) // (B + BP + BN, H)
	a := fn.Let(e.Slice(0, 0, B))
	p := fn.Let(e.Slice(0, B, B*(1+P)).View(B, P, -1))
	n := fn.Let(e.Slice(0, B*(1+P), rows).View(B, N, -1))
	sp := fn.Let(a.Unsqueeze(1).Mul(p).Sum(false, -1).DivScalar()) // (B, P)
	sn := fn.Let(a.Unsqueeze(1).Mul(n).Sum(false, -1).DivScalar()) // (B, N)
	return fn.Return(sp.Neg().Add(shadow.Cat(1, sp, sn).LogSumExp()).Mean(false, 0, 1))
}

// embed runs each field through its encoder, and the combined results through the experts.
func (m *multiEncoder) embed(toks []*shadow.Tensor, mask *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func()
	outs := make([]*shadow.Tensor, len(m.encoders))
	for i, enc := range m.encoders {
		hidden, _ := enc.forward(Batch{IDs: toks[i], Mask: mask})
		outs[i] = fn.Let(hidden.Mean(false, 1)) // (rows, H)
	}
	return fn.Return(m.proj.Call(m.w.Call(m.moe, shadow.Cat(-1, outs...))))
}

// mixture is a dense mixture of experts: every expert processes every row, and the best few are used.
type mixture struct {
	shadow.Path
	gate    *nn.Linear
	experts []*expert
	k       int
}

func newMixture(b *nn.Builder, c *Config, at string, dim int) *mixture {
	m := &mixture{Path: shadow.Path(at), gate: b.Linear(at+".gate", dim, c.Positive("experts", 4), true)}
	m.k = min(c.Positive("experts_per_token", 2), m.gate.Out)
	inner := c.Positive("expert_hidden", 1024)
	for i := range m.gate.Out {
		at := fmt.Sprintf("%s.experts.%d", at, i)
		m.experts = append(m.experts, &expert{
			Path: shadow.Path(at), dropout: 0.1,
			up:   b.Linear(at+".0", dim, inner, true),
			down: b.Linear(at+".3", inner, dim, true),
		})
	}
	return m
}

func (m *mixture) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := fn.Let(m.gate.Call(x).Softmax(shadow.None)) // (rows, experts)
	tw, ti := fn.Let2(w.TopK(m.k))                   // (rows, k)
	fn.Set(&tw, tw.Div(tw.Sum(true, -1)))
	out := fn.Let(x.FullLike())
	var y, weight *shadow.Tensor
	for _, ex := range m.experts {
		fn.Set(&y, x.World().Call(ex, x))
		fn.Set(&weight, ti.Compare("eq").Mul(tw).Sum(true, -1)) // (rows, 1)
		fn.Set(&out, out.Add(weight.To(y.DType()).Mul(y)))
	}
	return out
}

// expert is an nn.Sequential of two layers.
type expert struct {
	shadow.Path
	up, down *nn.Linear
	dropout  nn.Dropout
}

func (e *expert) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	fn.Set(&x, e.up.Call(x))
	fn.Set(&x, x.ReLU())
	fn.Set(&x, e.dropout.Call(x))
	fn.Set(&x, e.down.Call(x))
	return x
}
