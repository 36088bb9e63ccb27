// SPDX-License-Identifier: Apache-2.0

package family

import (
	"fmt"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Whisper: transformers/models/whisper/modeling_whisper.py. Its layers are mBART's, with another attention.

type whisper struct {
	net
	encoder *whisperEncoder
	decoder *whisperDecoder
	projOut *nn.Linear
}

func newWhisper(b *nn.Builder, c *Config, run Run) (Model, error) {
	c.alias("d_model", "hidden_size")
	for _, key := range []string{"encoder_layerdrop", "decoder_layerdrop"} {
		if c.Float(key, 0) > 0 {
			c.fail(key, "0, because skipping layers at random is not simulated")
		}
	}
	if c.Bool("apply_spec_augment", false) {
		c.fail("apply_spec_augment", "false, because SpecAugment is not simulated")
	}
	m := &whisper{net: net{b.W, run}}
	kind := &bartKind{ffn: 1536, act: "gelu", preNorm: true}
	m.encoder = newWhisperEncoder(b, c, m.net, kind)
	m.decoder = newWhisperDecoder(b, c, m.net, kind)
	if run.Head == Encoder {
		return m, nil
	}
	m.projOut = b.Linear("proj_out", c.Positive("d_model", 384), c.Positive("vocab_size", 51865), false)
	if c.Bool("tie_word_embeddings", true) {
		b.Tie(&m.projOut.Weight, m.decoder.tokens.Weight)
	}
	return m, nil
}

func (m *whisper) Batch() Batch {
	e := m.encoder
	return Batch{
		Sound:  m.w.Input(e.conv1.Weight.DType(), m.run.Batch, e.mels, e.frames),
		Labels: m.w.Input(shadow.Int64, m.run.Batch, m.run.Seq),
	}
}

// Loss is the forward of WhisperForConditionalGeneration or WhisperModel.
func (m *whisper) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	ids := fn.Let(b.decoderIDs(shiftRight))
	states := fn.Let(m.encoder.forward(b.Sound)) // (B, S, D)
	m.run.Calling.keepEncoded(states)
	out := fn.Let(m.decoder.forward(ids, states)) // (B, T, D)
	if m.keepsBare(out, nil) {
		return fn.Return(nil)
	}
	logits := fn.Let(m.projOut.Call(out)) // (B, T, V)
	m.run.Calling.keepLogits(logits)
	if b.Labels == nil {
		return fn.Return(nil)
	}
	return fn.Return(maskedLoss(logits, b.Labels, logits.Size(-1)))
}

// whisperEncoder is WhisperEncoder.
type whisperEncoder struct {
	bartStack
	b            *nn.Builder
	mels, frames int
	conv1, conv2 *nn.Conv1d
	positions    *nn.Embedding
}

func newWhisperEncoder(b *nn.Builder, c *Config, n net, kind *bartKind) *whisperEncoder {
	at, width, positions := n.prefix("model")+"encoder", c.Positive("d_model", 384), c.Positive("max_source_positions", 1500)
	e := &whisperEncoder{b: b, mels: c.Positive("num_mel_bins", 80)}
	e.net, e.kind, e.drop = n, kind, nn.Dropout(c.Float("dropout", 0))
	e.conv1 = b.Conv1d(at+".conv1", e.mels, width, 3, shadow.Conv{Stride: 1, Padding: 1, Groups: 1}, true)
	e.conv2 = b.Conv1d(at+".conv2", width, width, 3, shadow.Conv{Stride: 2, Padding: 1, Groups: 1}, true)
	e.frames = positions * e.conv1.Stride * e.conv2.Stride
	e.positions = b.Embedding(at+".embed_positions", positions, width)
	e.positions.Weight.SetTrained(false)
	e.layers = newWhisperLayers(b, c, &e.bartStack, "encoder")
	e.finalNorm = b.LayerNorm(at+".layer_norm", width, true)
	return e
}

// forward is WhisperEncoder.forward.
func (e *whisperEncoder) forward(features *shadow.Tensor) *shadow.Tensor {
	fn := e.w.Func(features)
	embeds := fn.Let(e.b.TowerInput(e.conv1.Call(features)).GELU()) // (B, D, 2 S)
	fn.Set(&embeds, e.conv2.Call(embeds).GELU())                    // (B, D, S)
	fn.Set(&embeds, embeds.Permute(0, 2, 1))                        // (B, S, D)
	at := fn.Let(e.w.Arange(e.positions.Weight.Size(0)))            // (S)
	hidden := fn.Let(embeds.Add(e.positions.Call(at)))              // (B, S, D)
	fn.Set(&hidden, e.drop.Call(hidden))
	for _, l := range e.layers {
		fn.Set(&hidden, e.layer(l, hidden))
	}
	fn.Set(&hidden, e.finalNorm.Call(hidden))
	return fn.Return(hidden)
}

// whisperDecoder is WhisperDecoder.
type whisperDecoder struct {
	bartStack
	positions *shadow.Tensor // (T, D)
}

func newWhisperDecoder(b *nn.Builder, c *Config, n net, kind *bartKind) *whisperDecoder {
	at, width := n.prefix("model")+"decoder", c.Positive("d_model", 384)
	d := &whisperDecoder{}
	d.net, d.kind, d.drop = n, kind, nn.Dropout(c.Float("dropout", 0))
	d.tokens = b.Embedding(at+".embed_tokens", c.Positive("vocab_size", 51865), width)
	b.Inputs(d.tokens)
	d.positions = b.Parameter(at+".embed_positions.weight", c.Positive("max_target_positions", 448), width)
	d.layers = newWhisperLayers(b, c, &d.bartStack, "decoder")
	d.finalNorm = b.LayerNorm(at+".layer_norm", width, true)
	return d
}

// forward is WhisperDecoder.forward.
func (d *whisperDecoder) forward(ids, states *shadow.Tensor) *shadow.Tensor {
	fn := d.w.Func(ids, states)
	embeds := fn.Let(d.tokens.Call(ids))                // (B, T, D)
	at := fn.Let(d.w.Arange(ids.Size(1)).AddScalar())   // (T)
	fn.Set(&at, at.Unsqueeze(0).Repeat(ids.Size(0), 1)) // (B, T)
	positions := fn.Let(d.positions.IndexAt(0, at))     // (B, T, D)
	hidden := fn.Let(embeds.Add(positions))
	fn.Set(&hidden, d.drop.Call(hidden))
	d.mask, d.states = fn.Let(d.causalMask(embeds, nil, at, 0)), states
	for _, l := range d.layers {
		fn.Set(&hidden, d.layer(l, hidden, d.mask, states))
	}
	fn.Set(&hidden, d.finalNorm.Call(hidden))
	return fn.Return(hidden)
}

// newWhisperLayers makes the layers of the encoder or the decoder.
func newWhisperLayers(b *nn.Builder, c *Config, s *bartStack, name string) []*bartLayer {
	width, ffn := c.Positive("d_model", 384), c.Positive(name+"_ffn_dim", s.kind.ffn)
	dim := c.HeadDim(width, c.Positive(name+"_attention_heads", 6))
	var layers []*bartLayer
	for i := range c.Int(name+"_layers", 4) {
		at := fmt.Sprintf("%s%s.layers.%d", s.prefix("model"), name, i)
		l := &bartLayer{Path: shadow.Path(at), s: s, act: c.activation("activation_function", s.kind.act), inner: nn.Dropout(c.Float("activation_dropout", 0))}
		attention := func(at string, crosses bool) *whisperAttention {
			return &whisperAttention{
				Path: shadow.Path(at), s: s, headDim: dim, dropout: c.Float("attention_dropout", 0), crosses: crosses, causal: name == "decoder" && !crosses,
				k:   b.Linear(at+".k_proj", width, width, false),
				v:   b.Linear(at+".v_proj", width, width, true),
				q:   b.Linear(at+".q_proj", width, width, true),
				out: b.Linear(at+".out_proj", width, width, true),
			}
		}
		l.self = attention(at+".self_attn", false)
		l.selfNorm = b.LayerNorm(at+".self_attn_layer_norm", width, true)
		if name == "decoder" {
			l.cross = attention(at+".encoder_attn", true)
			l.crossNorm = b.LayerNorm(at+".encoder_attn_layer_norm", width, true)
		}
		l.fc1 = b.Linear(at+".fc1", width, ffn, true)
		l.fc2 = b.Linear(at+".fc2", ffn, width, true)
		l.finalNorm = b.LayerNorm(at+".final_layer_norm", width, true)
		layers = append(layers, l)
	}
	return layers
}

// whisperAttention is WhisperAttention: queries are scaled before attention, and queries, keys and values are copied
// into row-major order.
type whisperAttention struct {
	shadow.Path
	s               *bartStack
	k, v, q, out    *nn.Linear
	headDim         int
	dropout         float64
	causal, crosses bool
}

func (a *whisperAttention) Forward(fn *shadow.Frame, hidden *shadow.Tensor) (*shadow.Tensor, *shadow.Tensor) {
	B, T := hidden.Size(0), hidden.Size(1)
	query := fn.Let(a.q.Call(hidden).MulScalar().View(B, T, -1, a.headDim).Transpose(1, 2).Contiguous()) // (B, H, T, D)
	states := fn.Let(hidden)
	if a.crosses {
		fn.Set(&states, a.s.states)
	}
	S := states.Size(1)
	key := fn.Let(a.k.Call(states).View(B, S, -1, a.headDim).Transpose(1, 2).Contiguous())   // (B, H, S, D)
	value := fn.Let(a.v.Call(states).View(B, S, -1, a.headDim).Transpose(1, 2).Contiguous()) // (B, H, S, D)
	if a.causal || a.crosses {
		a.s.cached(fn, &key, &value, 0)
	}
	out, weights := fn.Let2(a.attention(query, key, value)) // (B, T, H, D)
	fn.Set(&out, out.Reshape(B, T, -1).Contiguous())
	fn.Set(&out, a.out.Call(out))
	return out, weights
}

// attention runs the selected attention function; only the decoder's self-attention has a mask.
func (a *whisperAttention) attention(q, k, v *shadow.Tensor) (out, weights *shadow.Tensor) {
	var mask *shadow.Tensor
	if a.causal {
		mask = a.s.mask
	}
	if a.s.run.Attention == "eager" {
		return a.s.plainEager(q, k, v, mask, a.dropout)
	}
	return a.s.net.attention(q, k, v, attending{mask: mask, causal: a.causal, dropout: a.dropout})
}
