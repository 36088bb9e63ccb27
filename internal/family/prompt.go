// SPDX-License-Identifier: Apache-2.0

package family

import (
	"slices"

	"snug/internal/shadow"
	"snug/internal/shadow/nn"
)

// PEFT's prompt learning: virtual tokens that are trained while the model is frozen (PEFT 0.21, peft_model.py).

// Prompt describes the virtual tokens.
type Prompt struct {
	Tokens int      // per sample
	Hidden int      // width of the MLP that makes them; 0 means that of the embeddings
	MLP    bool     // an MLP makes them: p-tuning
	Save   []string // layers that are trained in full
}

// prompted is a PeftModel for prompt tuning and p-tuning: the virtual tokens' embeddings come before those of the text.
type prompted struct {
	Model
	net
	tokens  int
	words   *nn.Embedding
	encoder *nn.PromptEncoder
}

// NewPrompted adds virtual tokens to a model, whose run has the given shape and head.
func NewPrompted(b *nn.Builder, c *Config, m Model, run Run, p Prompt) (Model, error) {
	if err := p.check(c, run, promptable); err != nil {
		return nil, err
	}
	out := &prompted{Model: m, net: net{b.W, run}, tokens: p.Tokens, words: b.InputEmbedding()}
	rows, width := p.Tokens, out.words.Weight.Size(1)
	if run.Head == Seq2SeqLM {
		rows *= 2 // the encoder's and the decoder's; only the encoder's are used
	}
	widths := []int{width}
	if hidden := p.Hidden; p.MLP {
		if hidden == 0 {
			hidden = width
		}
		widths = append(widths, hidden, hidden, width)
	}
	out.encoder = b.AddPrompt(rows, widths, (*shadow.Tensor).ReLU, p.Save)
	return out, nil
}

// promptable lists the model types whose simulation was compared with recordings with embeddings in place of tokens.
var promptable = []string{
	"bert", "bloom", "cohere", "cohere2", "deepseek_v2", "deepseek_v3", "exaone4", "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4",
	"glm4_moe", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gpt_oss", "gptj", "granite", "granitemoe", "llama", "mistral", "mixtral", "olmo",
	"olmo2", "olmo3", "olmoe", "opt", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2", "t5",
}

// check returns an error for a model or head that the method is not simulated for.
func (p Prompt) check(c *Config, run Run, known []string) error {
	if !slices.Contains(known, c.ModelType()) {
		return refuse("lora.tuner", "virtual tokens of this kind are not simulated for %s; measure the run: snug profile -- <your command>", c.ModelType())
	}
	switch run.Head {
	case CausalLM, Seq2SeqLM, SequenceClassification, QuestionAnswering:
		return nil
	case TokenClassification:
		return refuse("model.head", "PEFT makes no labels for virtual tokens in %s, so the run would fail; choose another tuner", run.Head)
	}
	return refuse("model.head", "virtual tokens are not simulated for %s", run.Head)
}

// Loss is the forward of PeftModelForCausalLM and its siblings.
func (m *prompted) Loss(b Batch) *shadow.Tensor {
	if m.w.Unadapted {
		return m.Model.Loss(b)
	}
	fn := m.w.Func()
	if m.run.Head != Seq2SeqLM {
		m.extendMask(fn, &b)
	}
	embeds := fn.Let(m.words.Call(b.IDs)) // (B, S, H)
	if m.run.Head == CausalLM && b.Labels != nil {
		ignored := fn.Let(m.w.Full(shadow.Int64, m.run.Batch, m.tokens))
		fn.Set(&b.Labels, shadow.Cat(1, ignored, b.Labels)) // (B, V + S)
	}
	if m.run.Head == Seq2SeqLM {
		m.extendMask(fn, &b)
	}
	prompts := fn.Let(m.prompts()) // (B, V, H)
	fn.Set(&prompts, prompts.To(embeds.DType()))
	if m.run.Head == Seq2SeqLM {
		fn.Set(&embeds, shadow.Cat(1, prompts.Slice(1, 0, m.tokens), embeds))
	} else {
		fn.Set(&embeds, shadow.Cat(1, prompts, embeds))
	}
	b.IDs = embeds // inputs_embeds
	m.run.Seq += m.tokens
	defer func() { m.run.Seq -= m.tokens }()
	return fn.Return(m.Model.Loss(b))
}

// extendMask adds the virtual tokens to the mask.
func (m *prompted) extendMask(fn *shadow.Frame, b *Batch) {
	if b.Mask != nil {
		ones := fn.Let(m.w.Full(shadow.Float32, m.run.Batch, m.tokens))
		fn.Set(&b.Mask, shadow.Cat(1, ones, b.Mask)) // (B, V + S), float32
	}
}

// prompts is get_prompt.
func (m *prompted) prompts() *shadow.Tensor {
	fn := m.w.Func()
	tokens := fn.Let(m.w.Full(shadow.Int64, m.run.Batch, m.encoder.Tokens()))
	fn.Set(&tokens, tokens.Slice(0, 0, 1)) // (1, V)
	prompts := fn.Let(m.encoder.Call(tokens))
	fn.Set(&prompts, prompts.Repeat(m.run.Batch, 1, 1))
	return fn.Return(prompts)
}
