// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// PEFT's prefix tuning: each layer's cache begins with the keys and values of virtual tokens, which are trained
// (PEFT 0.21, get_prompt in peft_model.py; transformers 5.17, cache_utils.py).

// Prefix is the cache of keys and values that a forward begins with. All parts of a run share it.
type Prefix struct {
	Tokens int              // virtual tokens per sample; 0 if there are none
	past   []*shadow.Tensor // keys and values of the layers that have not run yet
	grown  []*shadow.Tensor // keys and values of the layers that have run: the prefix's and the sample's
}

// tokens returns the number of virtual tokens that each layer attends to.
func (p *Prefix) tokens() int {
	if p == nil {
		return 0
	}
	return p.Tokens
}

// extend is past_key_values.update: the layer's keys and values come after those of the prefix, which are then freed.
func (p *Prefix) extend(fn *shadow.Frame, key, value **shadow.Tensor) {
	grown := func(past, own *shadow.Tensor) *shadow.Tensor {
		all := shadow.Cat(-2, past, own).Hold()
		past.Drop()
		p.grown = append(p.grown, all)
		return all
	}
	k := grown(p.past[0], *key)
	v := grown(p.past[1], *value)
	p.past = p.past[2:]
	fn.Set2(key, k, value, v)
}

// end passes the cache on with the model's outputs, or frees it.
func (p *Prefix) end(c *Calling) {
	all := append(p.past, p.grown...)
	p.past, p.grown = nil, nil
	if c != nil && c.Keep != nil {
		c.Keep.Cache = append(c.Keep.Cache, all...)
		return
	}
	for _, t := range all {
		t.Drop()
	}
}

// prefixed is a PeftModel for prefix tuning.
type prefixed struct {
	Model
	net
	shape   prefixShape
	dtype   shadow.DType // of the model
	encoder *nn.PromptEncoder
}

// prefixShape is the shape of the model's keys.
type prefixShape struct{ layers, heads, width int }

// NewPrefixed adds a prefix to a model, which was built with the run's Prefix.
func NewPrefixed(b *nn.Builder, c *Config, m Model, run Run, p Prompt) (Model, error) {
	if err := p.check(c, run, prefixable); err != nil {
		return nil, err
	}
	out := &prefixed{Model: m, net: net{b.W, run}, shape: c.prefixShape(), dtype: b.DType}
	if all := NewConfig(c.Complete()); all.Int("d_kv", out.shape.width) != out.shape.width || all.Int("num_decoder_layers", out.shape.layers) != out.shape.layers {
		return nil, refuse("lora.tuner", "PEFT's prefix (d_model / num_heads wide, in num_layers layers) does not match the decoder's keys, so the run would fail; choose another tuner")
	}
	token := out.shape.heads * out.shape.width
	whole := 2 * out.shape.layers * token
	widths := []int{whole}
	if p.MLP {
		if p.Hidden == 0 {
			p.Hidden = token
		}
		widths = []int{token, p.Hidden, whole}
	}
	out.encoder = b.AddPrompt(p.Tokens, widths, (*shadow.Tensor).Tanh, p.Save)
	return out, c.Err()
}

// prefixShape is _prepare_prompt_learning_config.
func (c *Config) prefixShape() prefixShape {
	all := NewConfig(c.Complete())
	first := func(keys ...string) int {
		for _, k := range keys {
			if all.Has(k) {
				return all.Int(k, 0)
			}
		}
		c.fail(keys[0], "a number, which PEFT needs for prefix tuning")
		return 1
	}
	s := prefixShape{layers: first("num_hidden_layers", "num_layers", "n_layer"), heads: first("num_attention_heads", "n_head", "num_heads")}
	s.width = first("hidden_size", "n_embd", "d_model") / max(s.heads, 1)
	if all.Has("num_key_value_heads") {
		s.heads, s.width = all.Int("num_key_value_heads", 0), all.Int("head_dim", s.width)
	}
	return s
}

// prefixable lists the model types whose simulation was compared with recordings with a prefix.
var prefixable = []string{
	"bert", "bloom", "exaone4", "gemma", "glm", "glm4", "gpt2", "gpt_neox", "gpt_oss", "gptj", "granite", "granitemoe", "llama", "mistral",
	"mixtral", "phi", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "starcoder2", "t5",
}

// Loss is the forward of PeftModelForCausalLM and its siblings.
func (m *prefixed) Loss(b Batch) *shadow.Tensor {
	if m.w.Unadapted {
		tokens := m.run.Prefix.Tokens
		m.run.Prefix.Tokens = 0
		defer func() { m.run.Prefix.Tokens = tokens }()
		return m.Model.Loss(b)
	}
	fn := m.w.Func()
	if b.Mask != nil && m.run.Head != Seq2SeqLM {
		ones := fn.Let(m.w.Full(shadow.Float32, m.run.Batch, m.run.Prefix.Tokens))
		fn.Set(&b.Mask, shadow.Cat(1, ones, b.Mask)) // (B, V + S), float32
	}
	m.fill()
	defer m.run.Prefix.end(m.run.Calling)
	return fn.Return(m.Model.Loss(b))
}

// fill is get_prompt: it makes the cache that the layers extend. A model with an encoder and a decoder gets a second cache,
// for cross-attention, which is dropped again.
func (m *prefixed) fill() {
	fn, s := m.w.Func(), m.shape
	B, V, each := m.run.Batch, m.run.Prefix.Tokens, 2
	if m.run.Head == Seq2SeqLM {
		each = 4
	}
	tokens := fn.Let(m.w.Full(shadow.Int64, B, V*each/2))
	fn.Set(&tokens, tokens.Slice(1, 0, V))
	past := fn.Let(m.encoder.Call(tokens)) // (B, V, 2 · layers · H · D)
	fn.Set(&past, past.To(m.dtype))
	fn.Set(&past, past.View(B, V, 2*s.layers, s.heads, s.width))
	if each == 4 {
		fn.Set(&past, shadow.Cat(2, past, past))
	}
	layers := past.Permute(2, 0, 3, 1, 4).Split(0, slices.Repeat([]int{each}, s.layers)...) // each (2 or 4, B, H, V, D)
	fn.Set(&past, nil)
	for _, l := range layers {
		fn.Let(l)
	}
	if each == 2 {
		m.run.Prefix.past = m.caches(layers)
	} else {
		m.fillBoth(fn, layers)
	}
	fn.Return(nil)
}

// fillBoth is EncoderDecoderCache(...), and the reset of its second cache.
func (m *prefixed) fillBoth(fn *shadow.Frame, layers []*shadow.Tensor) {
	var self, cross []*shadow.Tensor
	for _, l := range layers {
		self = append(self, fn.Let(l.SliceOp(0, 0, 2, 1)))
		cross = append(cross, fn.Let(l.SliceOp(0, 2, 4, 1)))
	}
	m.run.Prefix.past = m.caches(self)
	for _, t := range m.caches(cross) {
		t.Drop()
	}
}

// caches is DynamicCache(layers): it copies the keys and values of each layer.
func (m *prefixed) caches(layers []*shadow.Tensor) (out []*shadow.Tensor) {
	fn := m.w.Func()
	for _, l := range layers {
		pair := l.SliceOp(0, 0, 2, 1).Unbind(0)
		for _, t := range pair {
			fn.Let(t)
		}
		for _, t := range pair {
			out = append(out, shadow.Cat(-2, m.emptyCache(t), t).Hold())
		}
	}
	fn.Return(nil)
	return out
}
