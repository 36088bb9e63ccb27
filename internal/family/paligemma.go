// SPDX-License-Identifier: Apache-2.0

package family

import (
	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// PaliGemma 1 and 2: transformers/models/paligemma/modeling_paligemma.py. Features of SigLIP replace the embeddings of the
// image tokens in Gemma or Gemma 2. The tokens of an image and a prompt attend to each other in both directions.

type paliGemma struct {
	*llama
	tower     visionTower
	projector *paliGemmaProjector
}

func newPaliGemma(b *nn.Builder, c *Config, run Run) (Model, error) {
	v, t := c.paliGemmaVision(), c.within("text_config")
	if !c.Has("text_config") {
		t.usual(map[string]any{"hidden_size": 2048.0, "num_hidden_layers": 18.0, "intermediate_size": 16384.0, "num_attention_heads": 8.0, "num_key_value_heads": 1.0, "vocab_size": 257152.0})
	}
	if !t.Bool("use_bidirectional_attention", true) {
		t.fail("use_bidirectional_attention", "true; PaliGemma with causal attention only is not simulated")
	}
	t.with("use_bidirectional_attention", false) // it is read here
	m := &paliGemma{tower: newVisionTower(b, v, run, "siglip_vision_model")}
	const at = "model.multi_modal_projector"
	m.projector = &paliGemmaProjector{at, b.Linear(at+".linear", m.tower.sizes().width, c.Positive("projection_dim", 2048), true)}
	c.insideVocabulary(t, 256000, 256000)
	var err error
	if m.llama, err = newTextModel(b, t, run, "gemma", c.Bool("tie_word_embeddings", true)); err != nil {
		return nil, err
	}
	m.bothWays, m.head.softcap = true, false
	return m, nil
}

// paliGemmaVision returns vision_config, by default that of SigLIP So400m.
func (c *Config) paliGemmaVision() *Config {
	v := c.within("vision_config")
	if !c.Has("vision_config") {
		v.usual(map[string]any{"intermediate_size": 4096.0, "hidden_size": 1152.0, "patch_size": 14.0, "image_size": 224.0, "num_hidden_layers": 27.0, "num_attention_heads": 16.0, "vision_use_head": false})
	}
	return v
}

// Batch makes the tensors that PaliGemmaProcessor returns for prompts and answers.
func (m *paliGemma) Batch() Batch { return m.imageBatch(m.tower.sizes(), true) }

// Loss is PaliGemmaForConditionalGeneration.forward.
func (m *paliGemma) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden, _ := fn.Let2(m.forward(b)) // the outputs have image_hidden_states
	return fn.Return(m.head.loss(hidden, b))
}

// forward is PaliGemmaModel.forward.
func (m *paliGemma) forward(b Batch) (hidden, features *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	pos := fn.Let(m.w.Arange(m.run.Seq).AddScalar())
	fn.Set(&pos, pos.Unsqueeze(0).AddScalar())
	if b.Pixels != nil {
		features = fn.Let(m.imageFeatures(b.Pixels))
		fn.Set(&features, features.To(embeds.DType()))
		image := fn.Let(m.imageTokens(b.IDs))
		fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
	}
	in := textInput{embeds: embeds, pos: pos, masked: true}
	if b.Kinds != nil {
		blocks := fn.Let(shadow.WhereBoth(b.Kinds.Compare("eq"), m.w.Full(shadow.Int64), m.w.Full(shadow.Int64)))
		m.prefixMasks(fn, in, b.Mask, blocks)
	} else {
		m.masks.create(fn, m.net, embeds, b.Mask, pos)
	}
	if m.masks.full == nil && m.masks.window == 0 { // Gemma looks for another mask
		in.masked = false
	}
	hidden = fn.Let(m.fromEmbeds(in))
	return fn.Return2(hidden, features)
}

// prefixMasks makes masks for tokens that attend to all tokens of their block, and to earlier ones. fn holds them.
func (m *paliGemma) prefixMasks(fn *shadow.Frame, in textInput, mask, blocks *shadow.Tensor) {
	l := m.masks
	l.full, l.sliding = nil, nil
	m.w.Local(&l.full)
	m.w.Local(&l.sliding)
	l.full = fn.Let(m.imageMask(in, mask, orMasks(causalPattern(0), blockwise(blocks)), false))
	if l.window > 0 {
		l.sliding = fn.Let(m.imageMask(in, mask, orMasks(causalPattern(l.window), blockwise(blocks)), false))
	}
}

// imageFeatures is get_image_features.
func (m *paliGemma) imageFeatures(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	outputs := m.tower.forward(pixels, false).bind(fn)
	return fn.Return(m.w.Call(m.projector, outputs.last))
}

// paliGemmaProjector is PaliGemmaMultiModalProjector.
type paliGemmaProjector struct {
	shadow.Path
	linear *nn.Linear
}

func (p *paliGemmaProjector) Forward(fn *shadow.Frame, features *shadow.Tensor) *shadow.Tensor {
	return p.linear.Call(features)
}
