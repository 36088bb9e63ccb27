// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// nanoGPT: karpathy/nanoGPT, model.py. It is GPT-2 with linear layers, optional biases, and an unshifted loss,
// because targets are a separate tensor. train.py builds it on the CPU, so the head shares the embedding's weight
// before either has memory on the GPU.

type nanoGPT struct {
	net
	wte, wpe *nn.Embedding
	h        []*nanoBlock
	lnF      *nn.LayerNorm
	lmHead   *nn.Linear
	dropout  float64
	eval     bool // between model.eval() and model.train()
}

func newNanoGPT(b *nn.Builder, c *Config, run Run) (Model, error) {
	if err := nanoRefuses(run); err != nil {
		return nil, err
	}
	width, vocab, bias := c.Positive("n_embd", 768), c.Positive("vocab_size", 50304), c.Bool("bias", true)
	m := &nanoGPT{net: net{b.W, run}, dropout: c.Float("dropout", 0)}
	block := c.Positive("block_size", run.Seq) // train.py always trains on whole blocks
	if run.Seq > block {
		return nil, refuse("seq", "nanogpt has %d learned positions (block_size), and a longer sequence crashes", block)
	}
	m.wte = b.Embedding("transformer.wte", vocab, width)
	m.wpe = b.Embedding("transformer.wpe", block, width)
	heads := c.Positive("n_head", 12)
	c.HeadDim(width, heads)
	for i := range c.Int("n_layer", 12) {
		m.h = append(m.h, newNanoBlock(b, m, fmt.Sprintf("transformer.h.%d", i), width, heads, bias))
	}
	m.lnF = b.LayerNorm("transformer.ln_f", width, bias)
	m.lmHead = b.SharedLinear("lm_head", m.wte.Weight)
	return m, nil
}

// nanoRefuses returns an error for settings that model.py does not support.
func nanoRefuses(run Run) error {
	switch {
	case run.Checkpointing:
		return refuse("checkpointing", "nanoGPT's model.py has no gradient checkpointing")
	case run.Attention != "" && run.Attention != "sdpa":
		return refuse("attention", "nanoGPT's model.py uses scaled_dot_product_attention (sdpa), not %s", run.Attention)
	case run.Loss != "" || run.LossChunks > 1:
		return refuse("loss", "nanoGPT's model.py computes its loss itself, over all logits at once")
	}
	return nil
}

// Batch is get_batch: x, and the following tokens as y.
func (m *nanoGPT) Batch() Batch {
	x := m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)
	return Batch{IDs: x, Labels: m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq)}
}

// Loss returns only the loss.
func (m *nanoGPT) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	_, loss := fn.Let2(m.Forward(b))
	return fn.Return(loss)
}

// Eval is model.eval(), or model.train().
func (m *nanoGPT) Eval(on bool) { m.eval = on }

// Groups is configure_optimizers: weight decay applies to matrices but not to vectors.
func (m *nanoGPT) Groups(params []*shadow.Tensor) [][]*shadow.Tensor {
	var decay, rest []*shadow.Tensor
	for _, p := range params {
		if p.Dim() >= 2 {
			decay = append(decay, p)
		} else {
			rest = append(rest, p)
		}
	}
	return [][]*shadow.Tensor{decay, rest}
}

// Forward is GPT.forward.
func (m *nanoGPT) Forward(b Batch) (*shadow.Tensor, *shadow.Tensor) {
	idx, targets := b.IDs, b.Labels
	fn := m.w.Func(idx, targets)
	pos := fn.Let(m.w.Arange(idx.Size(1)))  // (T)
	tokEmb := fn.Let(m.wte.Call(idx))       // (B, T, C)
	posEmb := fn.Let(m.wpe.Call(pos))       // (T, C)
	x := fn.Let(m.drop(tokEmb.Add(posEmb))) // (B, T, C)
	for _, block := range m.h {
		fn.Set(&x, m.w.Call(block, x))
	}
	fn.Set(&x, m.lnF.Call(x))
	logits := fn.Let(m.lmHead.Call(x)) // (B, T, V)
	loss := fn.Let(logits.View(-1, logits.Size(-1)).CrossEntropy(targets.View(-1)))
	return fn.Return2(logits, loss)
}

// drop is every nn.Dropout of the model, because all have the same probability.
func (m *nanoGPT) drop(x *shadow.Tensor) *shadow.Tensor { return x.Dropout(m.dropping()) }

// dropping is dropout if self.training else 0.
func (m *nanoGPT) dropping() float64 {
	if m.eval {
		return 0
	}
	return m.dropout
}

type nanoBlock struct {
	shadow.Path
	ln1, ln2 *nn.LayerNorm
	attn     *nanoAttention
	mlp      *nanoMLP
}

func newNanoBlock(b *nn.Builder, m *nanoGPT, at string, width, heads int, bias bool) *nanoBlock {
	l := &nanoBlock{Path: shadow.Path(at)}
	l.ln1 = b.LayerNorm(at+".ln_1", width, bias)
	l.attn = &nanoAttention{
		Path: shadow.Path(at + ".attn"), m: m, heads: heads,
		cAttn: b.Linear(at+".attn.c_attn", width, 3*width, bias),
		cProj: b.Linear(at+".attn.c_proj", width, width, bias),
	}
	l.ln2 = b.LayerNorm(at+".ln_2", width, bias)
	l.mlp = &nanoMLP{
		Path: shadow.Path(at + ".mlp"), m: m,
		cFC:   b.Linear(at+".mlp.c_fc", width, 4*width, bias),
		cProj: b.Linear(at+".mlp.c_proj", 4*width, width, bias),
	}
	return l
}

// Forward is Block.forward.
func (l *nanoBlock) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	w := x.World()
	fn.Set(&x, x.Add(w.Call(l.attn, l.ln1.Call(x))))
	fn.Set(&x, x.Add(w.Call(l.mlp, l.ln2.Call(x))))
	return x
}

type nanoAttention struct {
	shadow.Path
	m            *nanoGPT
	heads        int
	cAttn, cProj *nn.Linear
}

// Forward is CausalSelfAttention.forward.
func (a *nanoAttention) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	B, T, C := x.Size(0), x.Size(1), x.Size(2)
	qkv := a.cAttn.Call(x).Split(2, C, C, C)
	q, k, v := fn.Let(qkv[0]), fn.Let(qkv[1]), fn.Let(qkv[2])
	fn.Set(&k, k.View(B, T, a.heads, C/a.heads).Transpose(1, 2)) // (B, nh, T, hs)
	fn.Set(&q, q.View(B, T, a.heads, C/a.heads).Transpose(1, 2)) // (B, nh, T, hs)
	fn.Set(&v, v.View(B, T, a.heads, C/a.heads).Transpose(1, 2)) // (B, nh, T, hs)

	y := fn.Let(a.m.w.SDPA(shadow.Attention{Query: q, Key: k, Value: v, Dropout: a.m.dropping(), Causal: true}))
	fn.Set(&y, y.Transpose(1, 2).Contiguous().View(B, T, C))
	fn.Set(&y, a.m.drop(a.cProj.Call(y)))
	return y
}

type nanoMLP struct {
	shadow.Path
	m          *nanoGPT
	cFC, cProj *nn.Linear
}

// Forward is MLP.forward.
func (p *nanoMLP) Forward(fn *shadow.Frame, x *shadow.Tensor) *shadow.Tensor {
	fn.Set(&x, p.cFC.Call(x))
	fn.Set(&x, x.GELU())
	fn.Set(&x, p.cProj.Call(x))
	fn.Set(&x, p.m.drop(x))
	return x
}

// NanoGPT names both nanoGPT's training loop and its model.
const NanoGPT = "nanogpt"

// AsNanoGPT returns the config with which nanoGPT builds a model: its own, or GPT-2's, with the biases and the
// whole vocabulary that from_pretrained in model.py sets. It returns nil for any other model.
func AsNanoGPT(config map[string]any) map[string]any {
	switch config["model_type"] {
	case NanoGPT:
		return config
	case "gpt2":
		out := map[string]any{"model_type": NanoGPT, "bias": true, "vocab_size": 50257.0, "block_size": 1024.0}
		for _, key := range []string{"n_layer", "n_head", "n_embd", "vocab_size"} {
			if v, ok := config[key]; ok {
				out[key] = v
			}
		}
		if v, ok := config["n_positions"]; ok {
			out["block_size"] = v
		}
		return out
	}
	return nil
}
