// SPDX-License-Identifier: Apache-2.0

package family

import (
	"math"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// Gemma 3 with images: Gemma3ForConditionalGeneration in transformers/models/gemma3/modeling_gemma3.py. Pooled features of
// SigLIP replace the embeddings of the image tokens, and the tokens of an image attend to each other in both directions.

type gemma3Vision struct {
	*llama
	tower     visionTower
	projector *gemma3Projector
}

func newGemma3Vision(b *nn.Builder, c *Config, run Run) (Model, error) {
	t := c.within("text_config")
	m := &gemma3Vision{tower: newVisionTower(b, c.within("vision_config"), run, "siglip_vision_model")}
	m.projector = newGemma3Projector(b, c, run, m.tower.sizes(), t.Positive("hidden_size", 2304))
	c.insideVocabulary(t, 262208, 262144)
	var err error
	if m.llama, err = newTextModel(b, t, run, "gemma3_text", c.Bool("tie_word_embeddings", true)); err != nil {
		return nil, err
	}
	m.head.softcap = false
	return m, nil
}

// insideVocabulary checks that the image token has an embedding. For one that has none, the original changes the ids.
func (c *Config) insideVocabulary(text *Config, vocab, image int) {
	c.alias("image_token_index", "image_token_id")
	if c.Int("image_token_index", image) >= text.Int("vocab_size", vocab) {
		c.fail("image_token_index", "less than vocab_size; others are not simulated")
	}
}

// Batch makes the tensors that Gemma3Processor returns.
func (m *gemma3Vision) Batch() Batch { return m.imageBatch(m.tower.sizes(), true) }

// Loss is Gemma3ForConditionalGeneration.forward.
func (m *gemma3Vision) Loss(b Batch) *shadow.Tensor {
	fn := m.w.Func()
	hidden, _ := fn.Let2(m.forward(b)) // the outputs have image_hidden_states
	return fn.Return(m.head.loss(hidden, b))
}

// forward is Gemma3Model.forward.
func (m *gemma3Vision) forward(b Batch) (hidden, features *shadow.Tensor) {
	fn := m.w.Func()
	embeds := fn.Let(m.embed.Call(b.IDs))
	if b.Pixels != nil {
		features = fn.Let(m.imageFeatures(b.Pixels))
		fn.Set(&features, features.To(embeds.DType()))
		image := fn.Let(m.imageTokens(b.IDs))
		fn.Set(&embeds, embeds.MaskedScatterInto(image, features))
	}
	if b.Kinds != nil {
		blocks := fn.Let(m.imageBlocks(b.Kinds))
		m.createMasks(fn, embeds, b.Mask, blocks)
	} else {
		m.masks.create(fn, m.net, embeds, b.Mask, nil)
	}
	hidden = fn.Let(m.fromEmbeds(textInput{embeds: embeds, masked: true}))
	return fn.Return2(hidden, features)
}

// imageFeatures is get_image_features.
func (m *gemma3Vision) imageFeatures(pixels *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(pixels)
	outputs := m.tower.forward(pixels, false).bind(fn)
	return fn.Return(m.w.Call(m.projector, outputs.last))
}

// imageBlocks is get_block_sequence_ids_for_mask: the number of the image that each token belongs to, or -1.
func (m *gemma3Vision) imageBlocks(kinds *shadow.Tensor) *shadow.Tensor {
	fn := m.w.Func(kinds)
	S := kinds.Size(1)
	image := fn.Let(kinds.Compare("eq"))
	previous := fn.Let(image.Pad(1, 0).Slice(1, 0, S))
	start := fn.Let(image.And(previous.Plain("bitwise_not", shadow.Bool)))
	groups := fn.Let(start.To(shadow.Int32).Cumsum().AddScalar())
	return fn.Return(shadow.WhereBoth(image, groups, m.w.Full(shadow.Int64)))
}

// createMasks is create_masks_for_vision_model. fn holds the masks.
func (m *gemma3Vision) createMasks(fn *shadow.Frame, embeds, mask, blocks *shadow.Tensor) {
	inner := m.w.Func(embeds, mask, blocks)
	causal, in := causalPattern(0), textInput{embeds: embeds}
	full := inner.Let(m.imageMask(in, mask, orMasks(causal, blockwise(blocks)), false))
	if mask != nil {
		mask.To(shadow.Bool).Hold().Drop()
	}
	sliding := inner.Let(m.imageMask(in, mask, andMasks(orMasks(causal, blockwise(blocks)), windowPattern), true))
	m.masks.full, m.masks.sliding = inner.Return2(full, sliding)
	m.w.Local(&m.masks.full)
	m.w.Local(&m.masks.sliding)
	fn.Let2(m.masks.full, m.masks.sliding)
}

// imageMask is create_causal_mask for a pattern that SDPA's causal flag cannot replace.
func (n net) imageMask(in textInput, mask *shadow.Tensor, look pattern, vmapped bool) *shadow.Tensor {
	embeds := in.embeds
	fn := n.w.Func(embeds, mask)
	if mask != nil {
		fn.Set(&mask, mask.To(shadow.Bool))
	} else if in.pos != nil {
		findPacked(in.pos.Expand(embeds.Size(0), -1))
	}
	if n.run.Attention == "flash" {
		if mask != nil {
			shadow.Item(mask.Alias().All())
		}
		return fn.Return(nil)
	}
	out := fn.Let(n.maskOf(embeds, mask, look, vmapped))
	if n.run.Attention == "eager" {
		fn.Set(&out, n.floatMask(embeds.DType(), out))
	}
	return fn.Return(out)
}

// gemma3Projector is Gemma3MultiModalProjector.
type gemma3Projector struct {
	shadow.Path
	weight       *shadow.Tensor // (vision width, text width)
	norm         *gemma2Norm
	side, kernel int // patches along each side of an image; of a token
}

func newGemma3Projector(b *nn.Builder, c *Config, run Run, s towerSize, width int) *gemma3Projector {
	const at = "model.multi_modal_projector"
	tokens := c.imageSide()
	if tokens < 1 || tokens > s.side {
		c.fail("mm_tokens_per_image", "the square of a number of tokens along each side, at most that of patches")
		tokens = 1
	}
	return &gemma3Projector{
		Path: at, side: s.side, kernel: s.side / tokens,
		weight: b.Parameter(at+".mm_input_projection_weight", s.width, width),
		norm:   newGemma2Norm(b, run, at+".mm_soft_emb_norm", s.width),
	}
}

// imageSide returns the number of tokens along each side of an image.
func (c *Config) imageSide() int {
	return int(math.Sqrt(float64(c.Positive("mm_tokens_per_image", 256))))
}

func (p *gemma3Projector) Forward(fn *shadow.Frame, outputs *shadow.Tensor) *shadow.Tensor {
	B, width := outputs.Size(0), outputs.Size(2)
	reshaped := fn.Let(outputs.Transpose(1, 2))
	fn.Set(&reshaped, reshaped.Reshape(B, width, p.side, p.side))
	fn.Set(&reshaped, reshaped.Contiguous())
	pooled := fn.Let(reshaped.AvgPool2d(p.kernel, shadow.Conv{Stride: p.kernel, Groups: 1}))
	fn.Set(&pooled, pooled.Flatten(2))
	fn.Set(&pooled, pooled.Transpose(1, 2)) // (B, tokens, width)
	normed := fn.Let(p.norm.Call(pooled))
	projected := fn.Let(normed.Matmul(p.weight))
	return projected.To(outputs.DType())
}
