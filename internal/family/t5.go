// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// T5: transformers/models/t5/modeling_t5.py.

// t5SDPA is the first release of transformers in which T5 uses scaled_dot_product_attention.
const t5SDPA = 500

type t5 struct {
	net
	shared           *nn.Embedding
	encoder, decoder *t5Stack   // no decoder in T5EncoderModel
	lmHead           *nn.Linear // nil without a head
	scale            bool       // scale_decoder_outputs
}

func newT5(b *nn.Builder, c *Config, run Run) (Model, error) {
	if run.Attention == "flash" {
		return nil, refuse("attention", "t5 does not support flash attention because of its position bias; use sdpa or eager")
	}
	vocab, width := c.Positive("vocab_size", 32128), c.Positive("d_model", 512)
	layers := c.Int("num_layers", 6)
	if run.Attention == "sdpa" && run.Transformers > 0 && run.Transformers < t5SDPA {
		run.Attention = "eager"
	}
	m := &t5{net: net{b.W, run}, scale: c.Bool("tie_word_embeddings", true)}
	m.shared = b.Embedding("shared", vocab, width)
	m.encoder = newT5Stack(b, c, m.net, "encoder", layers)
	if run.Head != Encoder || c.Bool("is_encoder_decoder", true) {
		m.decoder = newT5Stack(b, c, m.net, "decoder", c.Int("num_decoder_layers", layers))
	}
	if run.Head != Encoder {
		m.lmHead = b.Linear("lm_head", width, vocab, false)
	}
	m.tieAll(b, run.Fresh && (run.Transformers == 0 || run.Transformers >= t5SDPA))
	return m, nil
}

// tieAll ties the embeddings, and the head unless a checkpoint has a separate one, which transformers 5 keeps too, contrary to
// its config. A model that is made from its config always gets a tied head.
func (m *t5) tieAll(b *nn.Builder, forced bool) {
	if m.lmHead != nil && (m.scale || forced) {
		b.Tie(&m.lmHead.Weight, m.shared.Weight)
	}
	b.Tie(&m.encoder.embed.Weight, m.shared.Weight)
	if m.decoder != nil {
		b.Tie(&m.decoder.embed.Weight, m.shared.Weight)
	}
}
func (m *t5) Batch() Batch { return m.textBatch() }

// Loss is the forward of T5ForConditionalGeneration, or of T5Model or T5EncoderModel.
func (m *t5) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden := fn.Let(m.encoder.forward(fn, b.IDs, b.Mask, nil))
	if m.decoder == nil {
		m.run.Calling.keepHidden(hidden)
		return fn.Return(nil)
	}
	m.run.Calling.keepEncoded(hidden)
	ids := fn.Let(b.decoderIDs(shiftRight))
	out := fn.Let(m.decoder.forward(fn, ids, b.Mask, hidden))
	if m.keepsBare(out, nil) {
		return fn.Return(nil)
	}
	if m.scale {
		out = fn.Let(out.MulScalar())
	}
	logits := fn.Let(m.lmHead.Call(out))
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(logits.View(-1, logits.Size(-1)).CrossEntropy(b.Labels.View(-1)))
}

// decoderIDs returns the decoder's input: the caller's, or what shift makes of the labels.
func (b Batch) decoderIDs(shift func(labels *shadow.Tensor) *shadow.Tensor) *shadow.Tensor {
	if b.DecoderIDs != nil {
		return b.DecoderIDs
	}
	return shift(b.Labels)
}

// ShiftRight is model._shift_right(labels).
func ShiftRight(labels *shadow.Tensor) *shadow.Tensor { return shiftRight(labels) }

// shiftRight is _shift_right: it computes the decoder's input from its labels.
func shiftRight(labels *shadow.Tensor) *shadow.Tensor {
	fn := labels.World().Func(labels)
	ids := fn.Let(labels.FullLike())
	ids.Slice(-1, 1, labels.Size(-1)).AddTo(labels.Slice(-1, 0, labels.Size(-1)-1).Clone())
	shadow.Item(ids.Compare("eq"))
	return fn.Return(ids)
}

// t5Stack is T5Stack, the encoder or the decoder.
type t5Stack struct {
	net
	embed   *nn.Embedding
	blocks  []*t5Block
	norm    *t5LayerNorm
	dropout nn.Dropout
	decoder bool
	causal  *shadow.Tensor // the float mask of eager attention, while the decoder runs
	padding *shadow.Tensor // the mask of the encoder's padding for the current forward; nil without padding
}

func newT5Stack(b *nn.Builder, c *Config, n net, at string, layers int) *t5Stack {
	width := c.Positive("d_model", 512)
	s := &t5Stack{net: n, decoder: at == "decoder", dropout: nn.Dropout(c.Float("dropout_rate", 0.1))}
	s.embed = b.Embedding(at+".embed_tokens", c.Positive("vocab_size", 32128), width)
	for i := range layers {
		s.blocks = append(s.blocks, newT5Block(b, c, s, fmt.Sprintf("%s.block.%d", at, i), i == 0))
	}
	s.norm = newT5LayerNorm(b, at+".final_layer_norm", width)
	return s
}

// forward is T5Stack.forward. The first block makes the position biases, which the other blocks share. The
// decoder keeps a cache of keys and values even in training. The cache lives as long as the output, in the
// caller's frame.
func (s *t5Stack) forward(caller *shadow.Frame, ids, mask, encoder *shadow.Tensor) *shadow.Tensor {
	fn := s.w.Func(ids, encoder)
	embeds := fn.Let(s.embed.Call(ids))
	if s.decoder {
		s.causal = fn.Let(s.causalMask(embeds, nil, nil, 0))
	}
	s.padding = nil
	if padding := s.paddedKeys(embeds, mask); padding != nil {
		s.padding = fn.Let(padding)
	}
	hidden := fn.Let(s.dropout.Call(embeds))
	var bias, cross *shadow.Tensor
	for _, block := range s.blocks {
		call := &t5Call{t5Block: block, bias: bias, cross: cross, encoder: encoder}
		if s.decoder && !s.run.Checkpointing {
			call.cache = caller
		}
		fn.Set(&hidden, s.layer(call, hidden, s.causal, bias, cross, encoder))
		if bias == nil {
			bias, cross = fn.Let(call.madeBias), fn.Let(call.madeCross)
			bias.Drop()
			cross.Drop()
		}
	}
	fn.Set(&hidden, s.norm.Call(hidden))
	fn.Set(&hidden, s.dropout.Call(hidden))
	return fn.Return(hidden)
}

type t5Block struct {
	shadow.Path
	self, crossAttn *t5Attention
	selfNorm        *t5LayerNorm
	crossNorm       *t5LayerNorm
	ff              *t5FF
	dropout         nn.Dropout
}

func newT5Block(b *nn.Builder, c *Config, s *t5Stack, at string, first bool) *t5Block {
	width := c.Positive("d_model", 512)
	l := &t5Block{Path: shadow.Path(at), dropout: s.dropout}
	l.self = newT5Attention(b, c, s, at+".layer.0.SelfAttention", first)
	l.selfNorm = newT5LayerNorm(b, at+".layer.0.layer_norm", width)
	ff := at + ".layer.1"
	if s.decoder {
		l.crossAttn = newT5Attention(b, c, s, at+".layer.1.EncDecAttention", false)
		l.crossNorm = newT5LayerNorm(b, at+".layer.1.layer_norm", width)
		ff = at + ".layer.2"
	}
	l.ff = newT5FF(b, c, ff, s.dropout)
	return l
}

// t5Call is one call of a block: its arguments and results besides the hidden states.
type t5Call struct {
	*t5Block
	bias, cross, encoder *shadow.Tensor
	madeBias, madeCross  *shadow.Tensor // made by the first block and kept for the others
	cache                *shadow.Frame
	ran                  bool
}

// Forward is T5Block.forward.
func (l *t5Call) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	again := l.ran
	l.ran = true
	bias, cross := l.bias, l.cross
	out, weights := l.attend(fn, hidden, l.self, l.selfNorm, nil, &bias)
	fn.Set(&hidden, out)
	kept := fn.Let(weights)
	fn.Set(&hidden, clampHalf(hidden))
	if l.crossAttn != nil {
		out, weights = l.attend(fn, hidden, l.crossAttn, l.crossNorm, l.encoder, &cross)
		fn.Set(&hidden, out)
		fn.Set(&kept, weights)
		fn.Set(&hidden, clampHalf(hidden))
	}
	fn.Set(&hidden, hidden.World().Call(l.ff, hidden))
	fn.Set(&hidden, clampHalf(hidden))
	if l.bias == nil && !again {
		l.madeBias, l.madeCross = bias.Hold(), cross.Hold()
	}
	return hidden
}

// attend is T5LayerSelfAttention.forward and T5LayerCrossAttention.forward. The block's frame holds the bias that
// the first attention makes, and the weights that eager attention returns.
func (l *t5Call) attend(block *shadow.Frame, hidden *shadow.Tensor, a *t5Attention, norm *t5LayerNorm, states *shadow.Tensor, bias **shadow.Tensor) (out, weights *shadow.Tensor) {
	fn := hidden.World().Func(hidden)
	normed := fn.Let(norm.Call(hidden))
	a.states, a.bias, a.block, a.cache = states, bias, block, l.cache
	out, weights = hidden.World().Call2(a, normed)
	fn.Let(out)
	fn.Let(weights)
	return fn.Return2(hidden.Add(l.dropout.Call(out)), weights)
}
