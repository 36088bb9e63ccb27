// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"strings"

	"snug/internal/pattern"
	"snug/internal/shadow"
	"snug/internal/shadow/train"
)

// The optimizer of transformers' Trainer: which parameters it updates, and its name.

// undecayed matches the names of parameters to which the Trainer applies no weight decay.
var undecayed = pattern.New(`bias|layernorm|rmsnorm|(?:^|\.)norm(?:$|\.)|_norm(?:$|\.)`)

// decayParameterNames implements get_parameter_names, without layer norms and names that match the pattern.
func decayParameterNames(in *interpreter, a arguments) value {
	model := a.or(0, "model", nil)
	norm := func(p *shadow.Tensor) bool {
		return slices.ContainsFunc(networks(model), func(n *network) bool { return n.there(in).LayerNorm(p) })
	}
	method := in.getattr(model, "named_parameters")
	named := in.invoke(method, arguments{})
	defer drop(method)
	defer drop(named)
	out := &list{}
	for _, row := range in.items(named, maxRange) {
		if l, ok := row.(*list); ok && len(l.items) == 2 {
			name, _ := l.items[0].(string)
			if p, ok := l.items[1].(*shadow.Tensor); ok && !norm(p) && !undecayed.Regexp().MatchString(strings.ToLower(name)) {
				out.items = append(out.items, name)
			}
		}
		drop(row)
	}
	return out
}

// placeStates does what AcceleratedOptimizer does with an optimizer's states before its first step.
func placeStates(in *interpreter, a arguments) value {
	o, ok := a.or(0, "", nil).(*optimizerValue)
	if !ok {
		return nil
	}
	if s, ok := o.opt.(interface{ Counters() int }); ok {
		for range s.Counters() {
			o.steps = append(o.steps, in.World.Input(shadow.Float32))
		}
	}
	return nil
}

// loadedStates implements optimizer.load_state_dict for the states of a checkpoint, which come from the host.
func loadedStates(in *interpreter, a arguments) value {
	o, ok := a.or(0, "", nil).(*optimizerValue)
	if ok && !train.Restore(o.opt) {
		in.note("the states with which this optimizer resumes are only counted from its first step")
	}
	return nil
}

// trainerOptimizer makes the optimizer named by the argument optim, over parameter groups.
func trainerOptimizer(in *interpreter, a arguments) value {
	optim, _ := a.or(-1, "optim", "").(string)
	extra, _ := a.or(-1, "optim_args", "").(string)
	name, text := optimizerOf(optim, extra)
	if text != "" && in.Optimizer == "" {
		in.note("optim %s %s", optim, text)
	}
	if in.Optimizer != "" {
		name = in.Optimizer
	}
	o := in.optimizerOver(name, a.or(0, "params", nil)).(*optimizerValue)
	for _, n := range networks(a.or(-1, "model", nil)) {
		train.Widen(o.opt, embeddings(n.there(in))) // bitsandbytes keeps no 8-bit states for embeddings
		o.opt = n.there(in).Around(o.opt)
	}
	return o
}

// embeddings returns the embedding tables of a model.
func embeddings(n Net) []*shadow.Tensor {
	var out []*shadow.Tensor
	for _, p := range n.Parameters() {
		if n.Embedding(p) {
			out = append(out, p)
		}
	}
	return out
}

// optimizerOf returns the setup's name for an optimizer of the Trainer, and the text of a note about it, if any.
func optimizerOf(optim, extra string) (name, text string) {
	as := func(other string) string { return "is not simulated; it is counted as " + other }
	switch optim {
	case "adamw_torch_fused", "adamw_apex_fused":
		return "adamw-fused", ""
	case "adamw_torch", "adamw_hf":
		return "adamw", ""
	case "sgd":
		if given(extra, "momentum") {
			return "sgd-momentum", ""
		}
		return "sgd", ""
	case "adafactor", "adagrad":
		return optim, ""
	case "rmsprop":
		if given(extra, "momentum") || given(extra, "centered") {
			return optim, "with momentum or centered keeps one more state than is counted; the run needs more memory than shown"
		}
		return optim, ""
	case "adamw_bnb_8bit", "adamw_8bit":
		return "adamw-8bit", ""
	case "adamw_torch_8bit":
		return "adamw-torchao-8bit", ""
	case "paged_adamw_8bit":
		return "adamw-8bit", "keeps its states in memory shared with the host; the run may need less memory"
	case "lion_8bit":
		return "lion-8bit", ""
	case "paged_lion_8bit":
		return "lion-8bit", "keeps its states in memory shared with the host; the run may need less memory"
	case "lion_32bit", "paged_lion_32bit":
		return "lion", as("lion")
	case "paged_adamw_32bit":
		return "adamw-fused", "keeps its states in memory shared with the host; the run may need less memory"
	}
	switch {
	case strings.HasPrefix(optim, "galore"), strings.HasPrefix(optim, "apollo"), strings.Contains(optim, "lomo"):
		return "adamw-fused", as("adamw") + ", but needs less memory"
	case strings.Contains(optim, "ademamix"):
		return "adamw-fused", as("adamw") + ", but keeps one more state"
	}
	return "adamw-fused", as("adamw")
}

// given reports whether a list such as momentum=0.9,nesterov=true sets a key to something other than zero.
func given(list, key string) bool {
	return slices.ContainsFunc(strings.Split(strings.ReplaceAll(list, " ", ""), ","), func(pair string) bool {
		k, v, _ := strings.Cut(pair, "=")
		return k == key && !slices.Contains([]string{"0", "0.0", "False", "false"}, v)
	})
}
