// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var logitsOfEvaluation = Rule{
	Code: "SNG401", Name: "logits-of-evaluation",
	Title:    "Trainer collects the logits of the whole evaluation set",
	Why:      "With compute_metrics, transformers' Trainer keeps the logits of every evaluation batch on the GPU, and a language model has one for each entry of the vocabulary. preprocess_logits_for_metrics reduces them batch by batch (argmax); eval_accumulation_steps moves them to the CPU.",
	Evidence: "Measured on an H200: 512 rows of 512 tokens and 50,257 entries ran out of 16 GiB in the first evaluation.",
	Bad:      "model = AutoModelForCausalLM.from_pretrained(name)\ntrainer = Trainer(model, args, eval_dataset=rows, compute_metrics=metrics)\n",
	Good:     "model = AutoModelForCausalLM.from_pretrained(name)\ntrainer = Trainer(model, args, eval_dataset=rows, compute_metrics=metrics,\n                  preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1))\n",
	check:    checkEvaluationLogits,
}

func checkEvaluationLogits(m *module, r *reporter) {
	if !m.languageModel() || m.words["preprocess_logits_for_metrics"] || m.words["predict_with_generate"] || m.words["eval_accumulation_steps"] || m.words["prediction_loss_only"] {
		return
	}
	for _, f := range m.functions {
		for _, c := range f.calls {
			if c.name != "transformers.Trainer" || unpacks(c.Call) {
				continue
			}
			metrics := argument(c.Call, "compute_metrics")
			if name, ok := metrics.(*pysrc.Name); metrics != nil && !isConst(metrics, "None") && (!ok || !f.maybeNone(name.ID)) {
				r.add(c.At(), "with compute_metrics the Trainer keeps the logits of the whole evaluation set on the GPU; give it preprocess_logits_for_metrics, or set eval_accumulation_steps")
			}
		}
	}
}

// maybeNone reports whether a name can be None.
func (f *function) maybeNone(name string) bool {
	for _, a := range f.assigns[name] {
		if isConst(a.value, "None") {
			return true
		}
	}
	return f.params[name]
}

// languageModel reports whether all models in a file have a head over the vocabulary.
func (m *module) languageModel() bool {
	found := false
	for word := range m.words {
		switch {
		case hasWord(word, "forcausallm", "formaskedlm", "lmheadmodel", "forconditionalgeneration"):
			found = true
		case hasWord(word, "forsequenceclassification", "fortokenclassification", "forquestionanswering", "formultiplechoice", "generationconfig"):
			return false
		}
	}
	return found
}

var logitsForLoss = Rule{
	Code: "SNG402", Name: "logits-for-loss",
	Title:    "all logits are computed at once, only for the loss",
	Why:      "A language model's logits have one entry for each token and each word of the vocabulary, and their gradient is as large again. A loss that is computed in chunks, or fused with the head (Liger), never stores all of them.",
	Evidence: "Computed: logits of 6 × 2048 tokens and 128,256 entries take 5.9 GiB in float32, and as much again for the gradient.",
	Bad:      "logits = model(ids).logits\nloss = F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))\nloss.backward()\n",
	Good:     "hidden = model.model(ids).last_hidden_state\nloss = fused_linear_cross_entropy(model.lm_head.weight, hidden, labels)\nloss.backward()\n",
	check:    checkLogitsForLoss,
}

func checkLogitsForLoss(m *module, r *reporter) {
	if !m.languageModel() {
		return
	}
	for _, f := range m.functions {
		for _, c := range f.calls {
			if lastOf(c.Func) != "cross_entropy" || len(c.Args) == 0 || c.place.gradless || len(f.backs) == 0 {
				continue
			}
			if v := f.value(c.Args[0].Value, c.At(), c.place); v.known && v.big && v.graph {
				r.add(c.At(), "all logits are stored only for this loss; compute it in chunks, or fused with the head").made = v.lines
			}
		}
	}
}
