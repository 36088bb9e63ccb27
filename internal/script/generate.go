// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// model.generate(…) of transformers' decoders (generation/utils.py and logits_process.py, 5.17).

// decoding holds the arguments of a generation.
type decoding struct {
	count   int  // new tokens
	least   int  // min_new_tokens
	samples bool // do_sample
	warm    bool // temperature is not 1
	topK    int
	topP    bool
}

// generated implements model.generate(…). It returns the ids with new ones appended; a model that would stop earlier is
// followed to the limit.
func (n *network) generated(in *interpreter, a arguments) value {
	ids := in.tokensOnCard(a.or(0, "inputs", a.or(-1, "input_ids", nil)))
	if ids == nil || ids.Dim() != 2 {
		in.note(notGenerated)
		return unknown{}
	}
	defer ids.Drop()
	how, plain := decodingOf(a, ids.Size(1))
	rows := ids.Size(0)
	if k, ok := setting(a, "num_return_sequences").(int); ok && k > 1 {
		rows *= k
	}
	if n.loading.Head != "causal-lm" || !plain {
		in.note(notGenerated)
		begin := ids.Size(1)
		if n.loading.Head == "seq2seq-lm" {
			begin = 1
		}
		return in.World.Empty(shadow.Dims(rows, begin+how.count), shadow.Int64).Hold()
	}
	if in.survey != nil {
		return in.World.Empty(shadow.Dims(rows, ids.Size(1)+how.count), shadow.Int64).Hold()
	}
	if how.least < how.count {
		in.note("generation is followed to its limit of %d new tokens; if the model stops earlier, the run may need less memory", how.count)
	}
	was := in.World.GradEnabled()
	in.World.SetGrad(false)
	defer in.World.SetGrad(was)
	mask := in.tokensOnCard(a.or(-1, "attention_mask", nil))
	if mask == nil {
		mask = in.World.Full(shadow.Int64, ids.Sizes()...).Hold()
	}
	g := &generation{in: in, n: n, ids: ids.Hold(), mask: mask, how: how}
	if rows > ids.Size(0) {
		g.repeat(rows / ids.Size(0))
	}
	return g.run(how.count)
}

// notGenerated is the note on a generation that is not followed.
const notGenerated = "generation is not followed"

// tokensOnCard returns a tensor on the card, copied there if necessary, or nil for any other value.
func (in *interpreter) tokensOnCard(v value) *shadow.Tensor {
	switch t := v.(type) {
	case *shadow.Tensor:
		return t.Hold()
	case *hostTensor:
		return in.onto(t)
	}
	return nil
}

// setting returns an argument of generate, or the value that its generation_config has.
func setting(a arguments, name string) value {
	if v, ok := a.get(-1, name); ok {
		return v
	}
	if c, ok := a.or(-1, "generation_config", nil).(*configValue); ok {
		if v, ok := c.changed[name]; ok {
			return configItem(v)
		}
	}
	return nil
}

// usualLength is max_length without a limit, including the prompt.
const usualLength = 20

// decodingOf reads the arguments of generate. plain is false for ways of decoding that are not simulated.
func decodingOf(a arguments, prompt int) (how decoding, plain bool) {
	whole := func(name string) int {
		n, _ := setting(a, name).(int)
		return n
	}
	how.count = max(usualLength-prompt, 1)
	if n := whole("max_length"); n > 0 {
		how.count = max(n-prompt, 1)
	}
	if n := whole("max_new_tokens"); n > 0 {
		how.count = n
	}
	how.least = max(whole("min_new_tokens"), whole("min_length")-prompt)
	how.samples, _ = setting(a, "do_sample").(bool)
	if t, ok := number(setting(a, "temperature")); ok {
		how.warm = t != 1
	}
	how.topK = 50
	if k, ok := setting(a, "top_k").(int); ok {
		how.topK = k
	}
	if p, ok := number(setting(a, "top_p")); ok {
		how.topP = p < 1
	}
	other := []string{"num_beams", "penalty_alpha", "assistant_model", "repetition_penalty", "no_repeat_ngram_size", "return_dict_in_generate", "past_key_values", "logits_processor", "guidance_scale", "prompt_lookup_num_tokens"}
	plain = !slices.ContainsFunc(other, func(name string) bool {
		v := setting(a, name)
		return v != nil && v != false && v != 1 && v != 1.0 && v != 0
	})
	return how, plain
}

// repeat is _expand_inputs_for_generation.
func (g *generation) repeat(times int) {
	for _, t := range []**shadow.Tensor{&g.ids, &g.mask} {
		old := *t
		*t = g.in.World.Empty(shadow.Dims(times*old.Size(0), old.Size(1)), old.DType()).Hold()
		old.Drop()
	}
}

// process runs the logits processors on the next tokens' logits and returns their result, which may be the same tensor.
func (d decoding) process(logits *shadow.Tensor) *shadow.Tensor {
	w := logits.World()
	fn := w.Func(logits)
	scores := fn.Let(logits)
	if d.least > 0 { // MinNewTokensLengthLogitsProcessor
		step := w.Func(scores)
		step.Let(scores.Clone())
		eos := step.Let(w.Empty(shadow.Dims(scores.Size(-1)), shadow.Bool))
		fn.Set(&scores, step.Return(scores.MaskedFill(eos)))
	}
	if !d.samples {
		return fn.Return(scores)
	}
	if d.warm {
		fn.Set(&scores, scores.DivScalar())
	}
	if d.topK > 0 {
		fn.Set(&scores, topKOnly(scores, d.topK))
	}
	if d.topP {
		fn.Set(&scores, topPOnly(scores))
	}
	return fn.Return(scores)
}

// topKOnly is TopKLogitsWarper.
func topKOnly(scores *shadow.Tensor, k int) *shadow.Tensor {
	fn := scores.World().Func(scores)
	values, at := scores.TopK(min(k, scores.Size(-1)))
	fn.Let(values)
	fn.Let(at)
	return fn.Return(scores.MaskedFill(fn.Let(scores.Compare("lt"))))
}

// topPOnly is TopPLogitsWarper.
func topPOnly(scores *shadow.Tensor) *shadow.Tensor {
	fn := scores.World().Func(scores)
	sorted, at := scores.Sort()
	fn.Let(sorted)
	fn.Let(at)
	sums := fn.Let(sorted.Softmax(shadow.None).Cumsum())
	remove := fn.Let(sums.Compare("le"))
	where := fn.Let(remove.EmptyLike(shadow.Bool))
	return fn.Return(scores.MaskedFill(where))
}
