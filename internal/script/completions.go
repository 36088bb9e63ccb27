// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Native functions for trainers that generate the answers they train on:
// site-packages/trl_trainer_grpo_trainer.py.

func registerCompletions() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"prompts":           promptsBatch,
		"generated_rows":    generatedRows,
		"completion_length": completionLength,
		"prompt_length":     promptLength,
		"generate":          generates,
	} {
		natives["snug."+name] = f
	}
}

// promptsBatch implements snug.prompts(): a batch of texts that are not on the card yet.
func promptsBatch(in *interpreter, _ arguments) value {
	in.asked, in.compares = true, true
	d := &dict{record: true, sized: true}
	d.set("prompt", unknown{})
	return d
}

// generatedRows implements snug.generated_rows(steps): the number of completions generated at once, for the given
// number of batches.
func generatedRows(in *interpreter, a arguments) value {
	steps, ok := a.or(0, "steps", 1).(int)
	if !ok || steps < 1 {
		steps = 1
	}
	return in.Batch * steps
}

// completionLength implements snug.completion_length(most): the number of tokens in a completion. It comes from
// the setup or the trainer's limit, but leaves room for a prompt in the sample.
func completionLength(in *interpreter, a arguments) value {
	if in.Completion > 0 {
		return in.answer()
	}
	if n, ok := a.or(0, "most", nil).(int); ok && n > 0 && n < in.Seq {
		return n
	}
	return in.answer()
}

// promptLength implements snug.prompt_length(completion): the rest of the sample.
func promptLength(in *interpreter, a arguments) value {
	n, _ := a.or(0, "completion", 0).(int)
	return max(1, in.Seq-n)
}

// Limits on the number of events in a generation; a longer one adds several tokens to the cache at a time. The
// first generations determine how much memory is reserved, and later ones reuse it.
const (
	maxDecoded     = 240_000
	firstDecoded   = 2
	repeatsDecoded = 2_000
)

// generationCache is the cache that a generation passes to the next forward, which takes ownership of it.
type generationCache struct {
	of   []*shadow.Tensor
	grow int
}

// take returns the tensors, now owned by the caller, and the number of tokens by which they grow.
func (c *generationCache) take() ([]*shadow.Tensor, int) {
	of := c.of
	c.of = nil
	return of, c.grow
}

// generates implements snug.generate(model, ids, mask, new): GenerationMixin._sample of transformers (5.17) with
// sampling and a DynamicCache. It returns the ids with new ones appended.
func generates(in *interpreter, a arguments) value {
	n, okM := a.or(0, "model", nil).(*network)
	ids, okI := a.or(1, "ids", nil).(*shadow.Tensor)
	mask, okK := a.or(2, "mask", nil).(*shadow.Tensor)
	count, okN := a.or(3, "new", nil).(int)
	if !okM || !okI || !okK || !okN {
		in.note("generation is not followed")
		return unknown{}
	}
	if in.survey != nil { // a survey only needs the sizes of a training batch
		return in.World.Empty(shadow.Dims(ids.Size(0), ids.Size(1)+count), shadow.Int64).Hold()
	}
	g := &generation{in: in, n: n, ids: ids.Hold(), mask: mask.Hold(), how: decoding{samples: true}}
	return g.run(count)
}

// run generates count tokens and returns the ids with them appended.
func (g *generation) run(count int) value {
	in := g.in
	g.forward(g.ids, 0)
	if len(g.cache) == 0 {
		in.note("the key-value cache of this generate call is not counted; the run needs more memory than shown")
	}
	length := g.ids.Size(1) + count
	most, stride := in.decodes(), 1
	g.sample(1)
	for left := count - 1; left > 0 && len(g.cache) > 0; {
		n := min(stride, left)
		begin := len(in.World.Trace.Events)
		last := g.ids.Slice(1, g.ids.Size(1)-1, g.ids.Size(1)).Contiguous().Hold()
		g.forward(last, n)
		last.Drop()
		if left == count-1 { // the first token shows how many events each token needs
			stride = 1 + left*(len(in.World.Trace.Events)-begin)/most
		}
		left -= n
		g.sample(n)
	}
	if g.ids.Size(1) < length { // without a cache, only the first token is followed
		ids := g.ids
		g.ids = in.World.Empty(shadow.Dims(ids.Size(0), length), ids.DType()).Hold()
		ids.Drop()
	}
	dropTensors(g.cache)
	for _, t := range []*shadow.Tensor{g.logits, g.next, g.scores, g.probs, g.mask} {
		t.Drop()
	}
	return g.ids
}

// decodes returns the maximum number of events of the next generation.
func (in *interpreter) decodes() int {
	in.generated++
	if in.generated > firstDecoded {
		return repeatsDecoded
	}
	return maxDecoded
}

// generation is the state of _sample.
type generation struct {
	in        *interpreter
	n         *network
	ids, mask *shadow.Tensor
	cache     []*shadow.Tensor
	how       decoding
	logits    *shadow.Tensor // from the last forward
	next      *shadow.Tensor // next_token_logits
	scores    *shadow.Tensor // next_token_scores
	probs     *shadow.Tensor
}

// forward runs the model on tokens and keeps its cache and logits.
func (g *generation) forward(ids *shadow.Tensor, grow int) {
	args := arguments{
		names: []string{"input_ids", "attention_mask", "use_cache", "logits_to_keep"},
		named: []value{ids.Hold(), g.mask.Hold(), true, 1},
	}
	if len(g.cache) > 0 {
		args.names, args.named = append(args.names, "past_key_values"), append(args.named, &generationCache{g.cache, grow})
		g.cache = nil
	}
	out, ok := g.in.callNetwork(g.n, args).(*dict)
	ids.Drop()
	g.mask.Drop()
	if !ok {
		return
	}
	if v, ok := out.get("logits"); ok {
		if t, ok := v.(*shadow.Tensor); ok {
			g.logits = t.Hold()
		}
	}
	if v, ok := out.get("past_key_values"); ok {
		for _, x := range v.(*list).items {
			g.cache = append(g.cache, x.(*shadow.Tensor).Hold())
		}
	}
	drop(out)
}

// sample draws the next tokens: a copy of their logits in float32, the probabilities, and the random numbers of
// torch.multinomial. The values for the previous tokens live until then.
func (g *generation) sample(count int) {
	w := g.in.World
	if g.logits == nil {
		return
	}
	rows := g.logits.Size(0)
	old := g.mask
	g.mask = shadow.Cat(-1, old, w.Full(shadow.Int64, rows, count)).Hold()
	old.Drop()
	next := g.logits.Select(1, 0).Hold()
	w.Op("_to_copy")
	logits := w.Empty(next.Shape(), shadow.Float32).Hold()
	next.Drop()
	g.next.Drop()
	g.next = logits
	scores := g.how.process(logits).Hold()
	g.scores.Drop()
	g.scores = scores
	if g.how.samples {
		probs := scores.Softmax(shadow.Float32).Hold()
		g.probs.Drop()
		g.probs = probs
		w.Op("multinomial")
		w.Scratch(probs.Bytes())
	}
	ids := g.ids
	g.ids = shadow.Cat(-1, ids, w.Full(shadow.Int64, rows, count)).Hold()
	ids.Drop()
	g.logits.Drop()
	g.logits = nil
}
