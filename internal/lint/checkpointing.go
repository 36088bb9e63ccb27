// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var cacheWithCheckpoints = Rule{
	Code: "SNG501", Name: "cache-with-checkpoints",
	Title:    "use_cache=True in a run with gradient checkpointing",
	Why:      "Keys and values of all layers are kept for generation, which a training step never uses, and checkpointing would have to keep them too. transformers warns and switches the cache off in its own models; custom model code may not.",
	Evidence: "From transformers' source: the warning \"use_cache=True is incompatible with gradient checkpointing\".",
	Bad:      "model.gradient_checkpointing_enable()\nloss = model(ids, labels=ids, use_cache=True).loss\nloss.backward()\n",
	Good:     "model.gradient_checkpointing_enable()\nloss = model(ids, labels=ids, use_cache=False).loss\nloss.backward()\n",
	check:    checkCache,
}

func checkCache(m *module, r *reporter) {
	if !m.words["gradient_checkpointing_enable"] {
		return
	}
	for _, f := range m.functions {
		m.configuredCache(f, r)
		for _, c := range f.calls {
			if f.modelCall(c.Call) != "" && !c.place.gradless && len(f.backs) > 0 && isTrue(argument(c.Call, "use_cache")) && argument(c.Call, "labels") != nil {
				r.add(c.At(), "gradient checkpointing is on, and use_cache=True keeps keys and values that training does not need; pass use_cache=False")
			}
		}
	}
}

// configuredCache reports a model for which use_cache is set to True, at loading or later, and never disabled.
func (m *module) configuredCache(f *function, r *reporter) {
	if m.turnsCacheOff() || m.words["gradient_checkpointing_disable"] || f.words["generate"] {
		return
	}
	const message = "gradient checkpointing is on, and use_cache=True keeps keys and values that training does not need; set it to False"
	for name, list := range f.assigns {
		for _, a := range list {
			if last(name) == "use_cache" && isTrue(a.value) && !f.trainedBefore(a.at) {
				r.add(a.at, message)
			}
		}
	}
	for _, c := range f.calls {
		if last(c.name) == "from_pretrained" && isTrue(argument(c.Call, "use_cache")) {
			r.add(c.At(), message)
		}
	}
}

// turnsCacheOff reports whether the file sets use_cache to anything but True anywhere.
func (m *module) turnsCacheOff() bool {
	for _, f := range m.functions {
		for name, list := range f.assigns {
			for _, a := range list {
				if last(name) == "use_cache" && !isTrue(a.value) {
					return true
				}
			}
		}
		for _, c := range f.calls {
			if e := argument(c.Call, "use_cache"); e != nil && !isTrue(e) {
				return true
			}
		}
	}
	return false
}

// trainedBefore reports whether training is over at a position, so that a cache there is for generation.
func (f *function) trainedBefore(at pysrc.Pos) bool {
	for _, c := range f.calls {
		_, name := method(c.Call)
		if (name == "train" || name == "backward" || name == "fit") && before(c.At(), at) {
			return true
		}
	}
	return false
}

var frozenInputs = Rule{
	Code: "SNG502", Name: "frozen-inputs",
	Title:    "reentrant checkpointing of a model whose inputs need no gradient",
	Why:      "Reentrant checkpointing computes gradients only if an input of the checkpointed layers requires one. With frozen embeddings, as under LoRA, none does: the layers get no gradients, or PyTorch raises an error. Call enable_input_require_grads(), or use use_reentrant=False.",
	Evidence: "From PyTorch's documentation of torch.utils.checkpoint: the reentrant variant needs an input with requires_grad=True.",
	Bad:      "model = get_peft_model(model, lora)\nmodel.gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": True})\n",
	Good:     "model = get_peft_model(model, lora)\nmodel.gradient_checkpointing_enable(gradient_checkpointing_kwargs={\"use_reentrant\": False})\n",
	check:    checkFrozenInputs,
}

func checkFrozenInputs(m *module, r *reporter) {
	if !m.words["get_peft_model"] || m.words["enable_input_require_grads"] || m.words["prepare_model_for_kbit_training"] || m.words["prepare_model_for_int8_training"] || m.words["make_inputs_require_grad"] {
		return
	}
	for _, f := range m.functions {
		peft := pysrc.Pos{Line: 1 << 30}
		for _, c := range f.calls {
			switch name := last(c.name); {
			case name == "get_peft_model":
				peft = c.At()
			case name == "gradient_checkpointing_enable" && before(peft, c.At()) && reentrant(argument(c.Call, "gradient_checkpointing_kwargs")):
				r.add(c.At(), "with reentrant checkpointing and frozen embeddings no input of a layer requires a gradient; call model.enable_input_require_grads(), or use {\"use_reentrant\": False}")
			}
		}
	}
}

// reentrant reports whether {"use_reentrant": True} is given.
func reentrant(e pysrc.Expr) bool {
	d, ok := e.(*pysrc.Dict)
	if !ok {
		return false
	}
	for i, k := range d.Keys {
		if name, _ := text(k); name == "use_reentrant" {
			return isTrue(d.Values[i])
		}
	}
	return false
}
