// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// BART: transformers/models/bart/modeling_bart.py. Other families differ from it in the ways that bartKind lists.

type bart struct {
	net
	kind             *bartKind
	shared           *nn.Embedding
	encoder, decoder *bartStack
	bias             *shadow.Tensor // final_logits_bias, or nil
	lmHead           *nn.Linear
}

// bartKind holds the differences between BART-like families. The zero value has no norms around the layers.
type bartKind struct {
	vocab     int                                        // default size of the vocabulary
	ffn       int                                        // default width of the MLPs
	layerDrop float64                                    // default share of layers that are skipped
	attnDrop  float64                                    // default dropout of attention weights
	act       string                                     // default activation
	preNorm   bool                                       // attention and MLP come after their norms
	embedNorm bool                                       // the embeddings are normalized
	finalNorm bool                                       // the last layer's result is normalized
	unbiased  bool                                       // logits have no bias
	keepsOnes bool                                       // the decoder's mask has its own variable, so the mask of ones stays alive
	rebinds   bool                                       // the decoder's position embeddings replace their ids in one variable
	places    places                                     // positions; nil means learned ones
	shift     func(labels *shadow.Tensor) *shadow.Tensor // computes the decoder's input from its labels; nil means shiftRight
}

func newBART(b *nn.Builder, c *Config, run Run) (Model, error) {
	return newBARTLike(b, c, run, bartKind{vocab: 50265, ffn: 4096, act: "gelu", embedNorm: true})
}

func newBARTLike(b *nn.Builder, c *Config, run Run, kind bartKind) (Model, error) {
	c.alias("d_model", "hidden_size")
	for _, key := range []string{"encoder_layerdrop", "decoder_layerdrop"} {
		if c.Float(key, kind.layerDrop) > 0 {
			c.fail(key, "0, because skipping layers at random is not simulated")
		}
	}
	vocab, width := c.Positive("vocab_size", kind.vocab), c.Positive("d_model", 1024)
	m := &bart{net: net{b.W, run}, kind: &kind}
	m.shared = b.Embedding(m.prefix("model")+"shared", vocab, width)
	m.encoder = newBARTStack(b, c, m, "encoder")
	m.decoder = newBARTStack(b, c, m, "decoder")
	b.Tie(&m.encoder.tokens.Weight, m.shared.Weight)
	b.Tie(&m.decoder.tokens.Weight, m.shared.Weight)
	if run.Head == Encoder {
		return m, nil
	}
	if !kind.unbiased {
		m.bias = b.BufferAt("final_logits_bias", b.DType, 1, vocab)
	}
	m.lmHead = b.Linear("lm_head", width, vocab, false)
	b.Tie(&m.lmHead.Weight, m.shared.Weight)
	return m, nil
}

func (m *bart) Batch() Batch { return m.textBatch() }

// Loss is the forward of BartForConditionalGeneration or BartModel.
func (m *bart) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	ids := fn.Let(b.decoderIDs(m.shift))
	states := fn.Let(m.encoder.encode(b.IDs, b.Mask))
	m.run.Calling.keepEncoded(states)
	out := fn.Let(m.decoder.decode(ids, b.Mask, states))
	if m.keepsBare(out, nil) {
		return fn.Return(nil)
	}
	logits := fn.Let(m.lmHead.Call(out)) // (B, T, V)
	if m.bias != nil {
		fn.Set(&logits, logits.Add(m.bias))
	}
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(maskedLoss(logits, b.Labels, logits.Size(-1)))
}

// shift computes the decoder's input from its labels.
func (m *bart) shift(labels *shadow.Tensor) *shadow.Tensor {
	if m.kind.shift != nil {
		return m.kind.shift(labels)
	}
	return shiftRight(labels)
}

// bartStack is BartEncoder or BartDecoder.
type bartStack struct {
	net
	kind            *bartKind
	tokens          *nn.Embedding
	places          placed
	layers          []*bartLayer
	norm, finalNorm *nn.LayerNorm // of the embeddings, of the last layer's result; nil if there is none
	drop            nn.Dropout
	mask            *shadow.Tensor // for the current forward, like the encoder states and the mask of the encoder's padding
	padding         *shadow.Tensor
	states          *shadow.Tensor
}

func newBARTStack(b *nn.Builder, c *Config, m *bart, name string) *bartStack {
	width, at := c.Positive("d_model", 1024), m.prefix("model")+name
	s := &bartStack{net: m.net, kind: m.kind, drop: nn.Dropout(c.Float("dropout", 0.1))}
	s.tokens = b.Embedding(at+".embed_tokens", m.shared.Weight.Size(0), width)
	places := m.kind.places
	if places == nil {
		places = learnedPlaces
	}
	s.places = places(b, at+".embed_positions", c.Positive("max_position_embeddings", 1024), width)
	for i := range c.Int(name+"_layers", 12) {
		s.layers = append(s.layers, newBARTLayer(b, c, s, fmt.Sprintf("%s.layers.%d", at, i), name))
	}
	if s.kind.embedNorm {
		s.norm = b.LayerNorm(at+".layernorm_embedding", width, true)
	}
	if s.kind.finalNorm {
		s.finalNorm = b.LayerNorm(at+".layer_norm", width, true)
	}
	return s
}

// encode is BartEncoder.forward.
func (s *bartStack) encode(ids, mask *shadow.Tensor) *shadow.Tensor {
	fn := s.w.Func(ids, mask)
	embeds := fn.Let(s.tokens.Call(ids).MulScalar())
	at := fn.Let(s.places.of(s.w, ids, nil))
	hidden := fn.Let(embeds.Add(at))
	s.enter(fn, &hidden)
	s.pads(fn, embeds, mask)
	for _, l := range s.layers {
		fn.Set(&hidden, s.layer(l, hidden))
	}
	s.leave(fn, &hidden)
	return fn.Return(hidden)
}

// pads makes the mask of the encoder's padding, if there is any.
func (s *bartStack) pads(fn *shadow.Frame, embeds, mask *shadow.Tensor) {
	s.padding = nil
	if padding := s.paddedKeys(embeds, mask); padding != nil {
		s.padding = fn.Let(padding)
	}
}

// enter is what follows the sum of the embeddings.
func (s *bartStack) enter(fn *shadow.Frame, hidden **shadow.Tensor) {
	if s.norm != nil {
		fn.Set(hidden, s.norm.Call(*hidden))
	}
	fn.Set(hidden, s.drop.Call(*hidden))
}

// leave is what follows the last layer.
func (s *bartStack) leave(fn *shadow.Frame, hidden **shadow.Tensor) {
	if s.finalNorm != nil {
		fn.Set(hidden, s.finalNorm.Call(*hidden))
	}
}

// decode is BartDecoder.forward.
func (s *bartStack) decode(ids, padding, states *shadow.Tensor) *shadow.Tensor {
	fn := s.w.Func(ids, states)
	embeds := fn.Let(s.tokens.Call(ids).MulScalar())
	pos := fn.Let(s.places.ids(s.w, ids.Size(1)))
	ones := fn.Let(s.w.Full(shadow.Float32, ids.Size(0), ids.Size(1)))
	s.run.Calling.unpadded(func() { s.mask = s.causalMask(embeds, ones, nil, 0) })
	s.states = states
	if s.kind.keepsOnes {
		fn.Let(s.mask)
	} else {
		fn.Set(&ones, s.mask)
	}
	s.pads(fn, embeds, padding)
	at := s.places.of(s.w, ids, pos)
	if s.kind.rebinds {
		fn.Set(&pos, at)
	} else {
		fn.Let(at)
	}
	hidden := fn.Let(embeds.Add(at))
	s.enter(fn, &hidden)
	for _, l := range s.layers {
		fn.Set(&hidden, s.layer(l, hidden, s.mask, states))
	}
	s.leave(fn, &hidden)
	return fn.Return(hidden)
}

// bartLayer is BartEncoderLayer or BartDecoderLayer.
type bartLayer struct {
	shadow.Path
	s                              *bartStack
	self, cross                    shadow.Module2 // cross only in the decoder
	selfNorm, crossNorm, finalNorm *nn.LayerNorm
	fc1, fc2                       *nn.Linear
	act                            activation
	inner                          nn.Dropout
}

func newBARTLayer(b *nn.Builder, c *Config, s *bartStack, at, name string) *bartLayer {
	width, ffn := c.Positive("d_model", 1024), c.Positive(name+"_ffn_dim", s.kind.ffn)
	heads := c.Positive(name+"_attention_heads", 16)
	l := &bartLayer{Path: shadow.Path(at), s: s, act: c.activation("activation_function", s.kind.act), inner: nn.Dropout(c.Float("activation_dropout", 0))}
	attention := func(at string) *bartAttention {
		return &bartAttention{
			Path: shadow.Path(at), s: s, headDim: c.HeadDim(width, heads), dropout: c.Float("attention_dropout", s.kind.attnDrop),
			k:   b.Linear(at+".k_proj", width, width, true),
			v:   b.Linear(at+".v_proj", width, width, true),
			q:   b.Linear(at+".q_proj", width, width, true),
			out: b.Linear(at+".out_proj", width, width, true),
		}
	}
	self := attention(at + ".self_attn")
	self.causal = name == "decoder"
	l.self = self
	l.selfNorm = b.LayerNorm(at+".self_attn_layer_norm", width, true)
	if name == "decoder" {
		cross := attention(at + ".encoder_attn")
		cross.crosses = true
		l.cross = cross
		l.crossNorm = b.LayerNorm(at+".encoder_attn_layer_norm", width, true)
	}
	l.fc1 = b.Linear(at+".fc1", width, ffn, true)
	l.fc2 = b.Linear(at+".fc2", ffn, width, true)
	l.finalNorm = b.LayerNorm(at+".final_layer_norm", width, true)
	return l
}

func (l *bartLayer) Forward(fn *shadow.Frame, hidden *shadow.Tensor) *shadow.Tensor {
	residual := fn.Let(hidden)
	var weights *shadow.Tensor
	l.attend(fn, &hidden, residual, &weights, l.self, l.selfNorm)
	if l.cross != nil {
		fn.Set(&residual, hidden)
		l.attend(fn, &hidden, residual, &weights, l.cross, l.crossNorm)
	}
	fn.Set(&residual, hidden)
	l.before(fn, &hidden, l.finalNorm)
	fn.Set(&hidden, l.act(l.fc1.Call(hidden)))
	fn.Set(&hidden, l.inner.Call(hidden))
	fn.Set(&hidden, l.fc2.Call(hidden))
	fn.Set(&hidden, l.s.drop.Call(hidden))
	fn.Set(&hidden, residual.Add(hidden))
	l.after(fn, &hidden, l.finalNorm)
	if l.cross == nil {
		fn.Set(&hidden, l.clamp(hidden))
	}
	return hidden
}

// attend runs an attention with its dropout, residual and norm, in the layer's frame.
func (l *bartLayer) attend(fn *shadow.Frame, hidden **shadow.Tensor, residual *shadow.Tensor, weights **shadow.Tensor, a shadow.Module2, norm *nn.LayerNorm) {
	l.before(fn, hidden, norm)
	out, of := l.s.w.Call2(a, *hidden)
	fn.Set2(hidden, out, weights, of)
	fn.Set(hidden, l.s.drop.Call(*hidden))
	fn.Set(hidden, residual.Add(*hidden))
	l.after(fn, hidden, norm)
}

// before normalizes the input of attention or MLP, if norms come first.
func (l *bartLayer) before(fn *shadow.Frame, hidden **shadow.Tensor, norm *nn.LayerNorm) {
	if l.s.kind.preNorm {
		fn.Set(hidden, norm.Call(*hidden))
	}
}

// after normalizes the sum with the residual, if norms come last.
func (l *bartLayer) after(fn *shadow.Frame, hidden **shadow.Tensor, norm *nn.LayerNorm) {
	if !l.s.kind.preNorm {
		fn.Set(hidden, norm.Call(*hidden))
	}
}

// clamp guards against infinities in float16. Families whose norms come first clamp without a check.
func (l *bartLayer) clamp(hidden *shadow.Tensor) *shadow.Tensor {
	if l.s.kind.preNorm && hidden.DType() == shadow.Float16 {
		return hidden.Clamp()
	}
	return clampHalf(hidden)
}

type bartAttention struct {
	shadow.Path
	s               *bartStack
	k, v, q, out    *nn.Linear
	headDim         int
	dropout         float64
	causal, crosses bool
}

func (a *bartAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, S := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).View(B, S, -1, a.headDim).Transpose(1, 2)) // (B, H, S, D)
	states := hidden
	if a.crosses {
		states = a.s.states
	}
	key := fn.Let(a.k.Call(states))
	value := fn.Let(a.v.Call(states))
	fn.Set(&key, key.View(B, states.Size(1), -1, a.headDim).Transpose(1, 2))
	fn.Set(&value, value.View(B, states.Size(1), -1, a.headDim).Transpose(1, 2))
	out, weights := fn.Let2(a.attention(query, key, value))
	fn.Set(&out, out.Reshape(B, S, -1).Contiguous())
	fn.Set(&out, a.out.Call(out))
	return out, weights
}

// attention runs the selected attention function. Without padding, only the decoder's self-attention has a mask.
func (a *bartAttention) attention(q, k, v *shadow.Tensor) (out, weights *shadow.Tensor) {
	mask := a.s.padding
	if a.causal {
		mask = a.s.mask
	}
	if a.s.run.Attention == "eager" {
		return a.s.plainEager(q, k, v, mask, a.dropout)
	}
	return a.s.net.attention(q, k, v, attending{mask: mask, causal: a.causal, dropout: a.dropout})
}
