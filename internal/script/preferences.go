// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"slices"

	"snug/internal/shadow"
)

// Native functions for TRL's preference trainers: site-packages/trl_trainer_*.py and trl_experimental_*.py.

func registerPreferences() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"pairs":                 pairsBatch,
		"pairs_alone":           pairsAlone,
		"halves":                halvesOf,
		"rated":                 ratedBatch,
		"separate_pairs":        separateBatch,
		"labeled_pairs":         labeledPairs,
		"tagged":                taggedBatch,
		"chunked_log_probs":     chunkedLogProbs,
		"scattered":             scattered,
		"selective_log_softmax": selectedLogProbs,
		"entropies":             entropiesOf,
		"record":                recordOf,
		"like":                  likeNetwork,
		"loaded":                loadedNetwork,
		"backbone":              backbone,
		"is_adapted":            isAdapted,
		"compares_with":         comparesWith,
		"no_dropout":            noDropout,
		"trl_release":           func(in *interpreter, _ arguments) value { return in.Settings["trl"] },
	} {
		natives["snug."+name] = f
	}
}

// comparesWith records what a trainer compares answers against.
func comparesWith(in *interpreter, a arguments) value {
	in.result.Reference, _ = a.or(0, "reference", "").(string)
	return nil
}

// preference collects the tensors of a batch in which each sample has an answer.
type preference struct {
	in  *interpreter
	out *dict
}

func (in *interpreter) preference() preference {
	in.asked, in.compares = true, true
	return preference{in, &dict{record: true, sized: true}}
}

// samples returns the number of samples in the batch.
func (p preference) samples() int {
	if p.in.collating > 0 {
		return p.in.collating
	}
	return p.in.Batch
}

// tokens adds token ids and their mask, with names that start with prefix, and a mask of the answers under the
// name answers unless that is "".
func (p preference) tokens(prefix string, rows int, answers string) {
	size := []int{rows, p.in.Seq}
	p.out.set(prefix+"input_ids", &hostTensor{size: size, dtype: shadow.Int64})
	p.out.set(prefix+"attention_mask", &hostTensor{size: size, dtype: shadow.Int64})
	if answers != "" {
		mask := &hostTensor{size: size, dtype: shadow.Int64}
		p.in.learn(mask, contents{kind: tailMask, tail: p.in.answer()})
		p.out.set(prefix+answers, mask)
	}
}

// numbers adds a float32 for each of n rows.
func (p preference) numbers(name string, n int) {
	p.out.set(name, &hostTensor{size: []int{n}, dtype: shadow.Float32})
}

// answer returns the number of tokens in a sample's answer: half of the sample if the setup does not specify it.
func (in *interpreter) answer() int {
	switch {
	case in.Completion == 0:
		return in.Seq - in.Seq/2
	case in.length0 > 0 && in.Seq != in.length0: // lengths vary
		return max(1, in.Completion*in.Seq/in.length0)
	}
	return min(in.Completion, in.Seq)
}

// pairsBatch implements snug.pairs(precomputed): chosen answers, then rejected ones, each with its prompt.
func pairsBatch(in *interpreter, a arguments) value {
	p := in.preference()
	p.tokens("", 2*p.samples(), "completion_mask")
	if known, _ := a.or(0, "precomputed", false).(bool); known {
		p.numbers("ref_chosen_logps", p.samples())
		p.numbers("ref_rejected_logps", p.samples())
	}
	return p.out
}

// pairsAlone implements snug.pairs_alone(): chosen answers, then rejected ones, with no mask of the answers.
func pairsAlone(in *interpreter, _ arguments) value {
	p := in.preference()
	p.tokens("", 2*p.samples(), "")
	return p.out
}

// halvesOf implements snug.halves(labels): torch.nonzero of labels, half of which are true.
func halvesOf(in *interpreter, a arguments) value {
	t, ok := a.or(0, "", nil).(*shadow.Tensor)
	if !ok {
		return unknown{}
	}
	half := max(1, t.Numel()/2)
	return t.Nonzero(half).View(-1).Hold()
}

// ratedBatch implements snug.rated(kl, precomputed): labeled answers, and the same answers with other prompts.
func ratedBatch(in *interpreter, a arguments) value {
	p := in.preference()
	p.tokens("", p.samples(), "completion_mask")
	kl, _ := a.or(0, "kl", false).(bool)
	if kl {
		p.tokens("KL_", p.samples(), "completion_mask")
	}
	if known, _ := a.or(1, "precomputed", false).(bool); known {
		p.numbers("ref_logps", p.samples())
		if kl {
			p.numbers("ref_KL_logps", p.samples())
		}
	}
	p.out.set("label", &hostTensor{size: []int{p.samples()}, dtype: shadow.Bool})
	return p.out
}

// separateBatch implements snug.separate_pairs(): chosen and rejected answers in separate tensors, with labels.
func separateBatch(in *interpreter, _ arguments) value {
	p := in.preference()
	for _, prefix := range []string{"chosen_", "rejected_"} {
		p.tokens(prefix, p.samples(), "")
		p.labels(prefix, p.samples())
	}
	prompt := []int{p.samples(), max(1, in.Seq-in.answer())}
	p.out.set("prompt_input_ids", &hostTensor{size: prompt, dtype: shadow.Int64})
	p.out.set("prompt_attention_mask", &hostTensor{size: prompt, dtype: shadow.Int64})
	return p.out
}

// labels adds labels that are -100 except in the answers.
func (p preference) labels(prefix string, rows int) {
	labels := &hostTensor{size: []int{rows, p.in.Seq}, dtype: shadow.Int64}
	p.in.learn(labels, contents{kind: tailLeft, tail: p.in.answer(), value: -100})
	p.out.set(prefix+"labels", labels)
}

// labeledPairs implements snug.labeled_pairs(): chosen answers, then rejected ones, with labels.
func labeledPairs(in *interpreter, _ arguments) value {
	p := in.preference()
	p.tokens("", 2*p.samples(), "")
	p.labels("", 2*p.samples())
	return p.out
}

// taggedBatch implements snug.tagged(): prompts and answers with labels, the same prompts with other samples' answers,
// and tags that say which answers are good (half of them).
func taggedBatch(in *interpreter, _ arguments) value {
	p := in.preference()
	for _, prefix := range []string{"", "kl_"} {
		p.tokens(prefix, p.samples(), "")
		p.labels(prefix, p.samples())
	}
	tags := &hostTensor{size: []int{p.samples()}, dtype: shadow.Bool}
	in.learn(tags, contents{kind: randomMask, share: 0.5, even: true})
	p.out.set("kto_tags", tags)
	return p.out
}

// logProbTile is TOKEN_CHUNK_SIZE in trl/kernels/chunked_logprob.py and _CHUNKED_LOGPROB_CHUNK_SIZE in
// trl/trainer/utils.py (1.16).
var logProbTile = shadow.Tile{Tokens: 4096, Words: 32768}

// chunkedLogProbs implements ChunkedLogProbFunction.apply(hidden, weight, targets, outputs).
func chunkedLogProbs(in *interpreter, a arguments) value {
	hidden, okH := a.or(0, "hidden", nil).(*shadow.Tensor)
	weight, okW := a.or(1, "weight", nil).(*shadow.Tensor)
	targets, okT := a.or(2, "targets", nil).(*shadow.Tensor)
	if !okH || !okW || !okT {
		in.note("the log-probabilities of this model are not followed")
		return unknown{}
	}
	wanted := texts(in, a.or(3, "outputs", nil))
	has := func(name string) bool { return slices.Contains(wanted, name) }
	s := hidden.LogProbs(weight, targets, logProbTile, shadow.Scored{Entropy: has("entropy"), Squares: has("log_sum_sq_probs"), Mean: has("mean_logits"), Top: has("is_top1")})
	out := &list{tuple: true}
	for _, t := range []*shadow.Tensor{s.LogProbs, s.Entropy, s.Squares, s.Mean, s.Top} {
		if t == nil {
			out.items = append(out.items, nil)
			continue
		}
		out.items = append(out.items, t.Hold())
	}
	return out
}

// selectedLogProbs implements selective_log_softmax(logits, index).
func selectedLogProbs(in *interpreter, a arguments) value {
	logits, ok := a.or(0, "logits", nil).(*shadow.Tensor)
	index, okI := a.or(1, "index", nil).(*shadow.Tensor)
	if !ok || !okI {
		in.note("the log-probabilities of this model are not followed")
		return unknown{}
	}
	return logits.SelectedLogProbs(index).Hold()
}

// entropiesOf implements entropy_from_logits(logits, chunk_size) of trl/trainer/utils.py: the entropy of each row, a few rows
// at a time.
func entropiesOf(_ *interpreter, a arguments) value {
	logits, ok := a.or(0, "logits", nil).(*shadow.Tensor)
	size, okS := a.or(1, "chunk_size", nil).(int)
	if !ok || !okS {
		return unknown{}
	}
	rows := logits.Sizes()[:logits.Dim()-1]
	flat := logits.Reshape(-1, logits.Size(-1)).Hold()
	var sizes []int
	for left := flat.Size(0); left > 0; left -= size {
		sizes = append(sizes, min(left, size))
	}
	var entropies []*shadow.Tensor
	var logps *shadow.Tensor
	for _, chunk := range flat.Split(0, sizes...) {
		before := logps // the variable keeps its value until the next one is assigned
		logps = chunk.LogSoftmax(shadow.None).Hold()
		before.Drop()
		entropies = append(entropies, logps.Exp().Mul(logps).Sum(false, -1).Neg().Hold())
	}
	out := shadow.Cat(0, entropies...).Reshape(rows...).Hold()
	for _, e := range append(entropies, logps, flat) {
		e.Drop()
	}
	return out
}

// scattered implements snug.scattered(values, mask): zeros of the mask's shape, with the values where the mask is
// true.
func scattered(_ *interpreter, a arguments) value {
	parts, ok := a.or(0, "", nil).(*list)
	mask, okM := a.or(1, "", nil).(*shadow.Tensor)
	if !ok || !okM {
		return unknown{}
	}
	out := &list{tuple: true}
	for _, x := range parts.items {
		if t, ok := x.(*shadow.Tensor); ok {
			out.items = append(out.items, t.MaskedScatter(mask).Hold())
			continue
		}
		out.items = append(out.items, nil)
	}
	return out
}

// recordOf implements snug.record(name=value, …): transformers' ModelOutput, omitting values that are None.
func recordOf(_ *interpreter, a arguments) value {
	d := &dict{record: true}
	for i, name := range a.names {
		if a.named[i] != nil {
			d.set(name, hold(a.named[i]))
		}
	}
	return d
}

// loadModel implements snug.load_model(dtype): the setup's model. If dtype is "saved", from_pretrained loads it to the card in
// the type that it was saved in, and what is trained is then cast to the setup's type.
func loadModel(in *interpreter, a arguments) value {
	adapted, _ := in.Settings["lora"].(bool)
	n := &network{dtype: in.dtype, here: in.device == "cuda", adapted: adapted}
	if a.or(0, "dtype", nil) != "saved" {
		return n
	}
	halves := in.Settings["precision"] == "bf16" || in.Settings["precision"] == "fp16"
	casts := !adapted && !halves && in.Stored != shadow.None && in.Stored != shadow.Float32
	if casts {
		n.dtype = in.Stored
	}
	n.loading.Loaded = true
	n.there(in)
	if casts {
		n.net.Cast(shadow.Float32)
		n.dtype = shadow.Float32
	}
	return n
}

// loadReference implements snug.load_reference(dtype): a frozen model without adapters, in the setup's type, or in the one
// that it was saved in if dtype is "saved".
func loadReference(in *interpreter, a arguments) value {
	n := &network{dtype: in.dtype, loading: Loading{Unadapted: true}, mode: Mode{Eval: true}}
	if a.or(0, "dtype", nil) == "saved" {
		n.dtype = cmp.Or(in.Stored, in.dtype)
		n.loading.Loaded = true
		n.there(in)
	}
	return n
}

// likeNetwork implements snug.like(model): another model of the same kind, on the card and without adapters.
func likeNetwork(in *interpreter, a arguments) value {
	n, ok := a.or(0, "model", nil).(*network)
	if !ok {
		in.note("the reference model is not followed; the run needs more memory than shown")
		return nil
	}
	out := &network{dtype: n.dtype, casted: n.casted, loading: n.loading, config: n.config}
	out.loading.Adapters, out.loading.Unadapted, out.loading.Loaded = nil, true, in.mapped()
	out.mode.Eval, out.mode.NoCache = true, n.mode.NoCache
	if !in.mapped() {
		out.made(in)
		return out
	}
	out.there(in)
	return out
}

// loadedNetwork implements snug.loaded(model): from_pretrained loads the model directly to the card.
func loadedNetwork(in *interpreter, a arguments) value {
	v := a.or(0, "model", nil)
	if n, ok := v.(*network); ok && n.net == nil {
		n.loading.Loaded = true
		n.there(in)
	}
	return hold(v)
}

// backbone implements snug.backbone(model, …): the model without its head.
func backbone(in *interpreter, a arguments) value {
	n, ok := a.or(0, "", nil).(*network)
	if !ok {
		in.note("the model without its head is not followed")
		return unknown{}
	}
	a.pos = a.pos[1:]
	return in.forwardBase(n, a)
}

// isAdapted reports whether a model is wrapped in PEFT's classes.
func isAdapted(_ *interpreter, a arguments) value {
	n, ok := a.or(0, "model", nil).(*network)
	return ok && n.adapted
}

// noDropout implements disable_dropout_in_model.
func noDropout(_ *interpreter, a arguments) value {
	for _, n := range networks(a.or(0, "model", nil)) {
		n.mode.Undropped = true
	}
	return nil
}
