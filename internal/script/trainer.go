// SPDX-License-Identifier: Apache-2.0

package script

import (
	"math"
	"slices"

	"snug/internal/pysrc"
	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// Functions for the library files of transformers' and TRL's trainers that cannot be written in Python. The
// trainers themselves are in site-packages; trainer_steps.go selects the steps that are followed.

func registerTrainer() {
	for name, f := range map[string]func(*interpreter, arguments) value{
		"no_context":            func(*interpreter, arguments) value { return &contextValue{} },
		"neftune":               neftune,
		"liger":                 liger,
		"trl_loss":              trlLoss,
		"is_dict":               isDict,
		"accepts_loss_kwargs":   acceptsLossKwargs,
		"is_causal":             isCausal,
		"shifts_labels":         shiftsLabels,
		"finds_answers":         findsAnswers,
		"decay_parameter_names": decayParameterNames,
		"trainer_optimizer":     trainerOptimizer,
		"place_states":          placeStates,
		"loaded_states":         loadedStates,
		"scaled_in_place":       scaledInPlace,
		"sum_of":                sumOf,
		"moved":                 movedTo,
		"batch_size":            rowsOf,
		"ceil":                  ceiling,
	} {
		natives["snug."+name] = f
	}
	for _, name := range []string{"isnan", "isinf", "clamp"} {
		natives["torch."+name] = onTensor(name)
	}
	natives["transformers.Adafactor"] = func(in *interpreter, a arguments) value {
		o := in.optimizerOver("adafactor", a.or(0, "params", nil))
		if beta1, given := a.get(5, "beta1"); given && beta1 != nil {
			train.KeepFirstMoment(o.(*optimizerValue).opt)
		}
		return o
	}
	registerSteps()
}

func neftune(_ *interpreter, a arguments) value {
	for _, n := range networks(a.or(0, "model", nil)) {
		n.mode.Noise, _ = a.or(1, "on", false).(bool)
	}
	return nil
}

// liger implements apply_liger_kernel(model, config): it enables all kernels that Liger has for the model, except
// those disabled in the config.
func liger(_ *interpreter, a arguments) value {
	n, ok := a.or(0, "model", nil).(*network)
	if !ok {
		return nil
	}
	config, _ := a.or(1, "config", nil).(*dict)
	on := func(keys ...string) bool {
		for _, k := range keys {
			if config == nil {
				break
			}
			if v, ok := config.get(k); ok && v == false {
				return false
			}
		}
		return true
	}
	n.loading.Liger = &Liger{
		Rope: on("rope"), Norm: on("rms_norm", "layer_norm"), MLP: on("swiglu", "geglu"), Loss: on("fused_linear_cross_entropy"),
	}
	return nil
}

// isDict reports whether a value is known to be a dict.
func isDict(_ *interpreter, a arguments) value {
	_, ok := a.or(0, "", nil).(*dict)
	return ok
}

// acceptsLossKwargs reports whether a model's forward accepts num_items_in_batch among its **kwargs. All
// simulated models of transformers do.
func acceptsLossKwargs(_ *interpreter, a arguments) value {
	switch m := a.or(0, "model", nil).(type) {
	case *network:
		return true
	case *instance:
		v, _ := m.class.find("forward")
		f, ok := v.(*function)
		return ok && slices.ContainsFunc(f.params, func(p pysrc.Param) bool { return p.Stars == 2 })
	}
	return false
}

// isCausal reports whether the model's loss predicts the next token.
func isCausal(in *interpreter, a arguments) value {
	_, ok := a.or(0, "model", nil).(*network)
	return ok && in.Causal
}

// shiftsLabels reports whether the Trainer counts a causal model's labels from the second token.
func shiftsLabels(in *interpreter, a arguments) value {
	_, ok := a.or(0, "model", nil).(*network)
	return ok && in.Shifts
}

// findsAnswers reports whether the model marks answers in texts, so that its labels are their first and last tokens.
func findsAnswers(in *interpreter, a arguments) value {
	_, ok := a.or(0, "model", nil).(*network)
	return ok && slices.ContainsFunc(in.Fields, func(f Field) bool { return f.Name == "end_positions" })
}

// scaledInPlace implements loss *= number.
func scaledInPlace(_ *interpreter, a arguments) value {
	t, ok := a.or(0, "loss", nil).(*shadow.Tensor)
	if !ok || !t.RequiresGrad() {
		return hold(a.or(0, "loss", nil))
	}
	return t.ScaleInPlace().Hold()
}

// sumOf implements sum(f(x) for x in items); each value is computed when it is added.
func sumOf(in *interpreter, a arguments) value {
	var total value = 0
	for _, x := range in.items(a.or(0, "", nil), maxRange) {
		v := in.invoke(a.or(1, "", nil), arguments{pos: []value{x}})
		next := in.binary("+", total, v)
		drop(total)
		drop(v)
		total = next
	}
	return total
}

func movedTo(in *interpreter, a arguments) value {
	return in.moved(a.or(0, "", nil), arguments{pos: []value{"cuda"}})
}

// eachTensor returns a value with each of its tensors replaced with f's result.
func (in *interpreter) eachTensor(v value, f func(value) value) value {
	return eachBut(v, f, map[value]bool{})
}

// eachBut is eachTensor, but skips containers already visited, because containers may contain themselves.
func eachBut(v value, f func(value) value, under map[value]bool) value {
	switch v.(type) {
	case *shadow.Tensor, *hostTensor:
		return f(v)
	case *list, *dict:
		if under[v] {
			return unknown{}
		}
		under[v] = true
		defer delete(under, v)
	}
	switch v := v.(type) {
	case *list:
		out := &list{tuple: v.tuple}
		for _, x := range v.items {
			out.items = append(out.items, eachBut(x, f, under))
		}
		return out
	case *dict:
		out := &dict{record: v.record, batch: v.batch}
		for i, k := range v.keys {
			out.set(k, eachBut(v.vals[i], f, under))
		}
		return out
	}
	return hold(v)
}

// rowsOf returns the number of samples in the first tensor of a value.
func rowsOf(in *interpreter, a arguments) value {
	var out value
	in.eachTensor(a.or(0, "", nil), func(t value) value {
		if out == nil {
			out = length(in, arguments{pos: []value{t}})
		}
		return nil
	})
	return out
}

func ceiling(_ *interpreter, a arguments) value {
	if x, ok := number(a.or(0, "", nil)); ok {
		return int(math.Ceil(x))
	}
	return unknown{}
}

// trlLoss makes a model compute its loss with TRL's code.
func trlLoss(in *interpreter, a arguments) value {
	n, ok := a.or(0, "", nil).(*network)
	switch {
	case !ok:
	case n.net != nil:
		in.note("the model is on the card before SFTTrainer gets it, so the model's own loss is counted; the run needs less memory than shown")
	default:
		n.loading.Loss = "trl"
	}
	return nil
}
