// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"snug/internal/pysrc"
)

// findModels collects the names that are used like models: by calling parameters() or eval() on them.
func (m *module) findModels() {
	for _, f := range m.functions {
		for _, c := range f.calls {
			on, name := method(c.Call)
			switch name {
			case "parameters", "named_parameters", "eval":
				if d := dotted(on); d != "" && len(c.Args) == 0 && !notModel(last(d)) {
					m.models[d] = true
				}
			case "set_grad_enabled":
				if args := positional(c.Call); len(args) == 1 && isFalse(args[0]) {
					if _, used := c.stmt.(*pysrc.With); !used {
						m.gradless = true
					}
				}
			}
		}
		f.findLayers()
	}
}

// findLayers collects the attributes of a module class that are modules themselves.
func (f *function) findLayers() {
	if !f.class.isModule() {
		return
	}
	for name, list := range f.assigns {
		attribute, ok := strings.CutPrefix(name, "self.")
		if !ok {
			continue
		}
		for _, a := range list {
			if c, ok := a.value.(*pysrc.Call); ok && f.makesModule(c) {
				f.class.layers[attribute] = true
			}
		}
	}
}

// makesModule reports whether a call creates a module: nn.Linear(…), a class in this file, from_pretrained.
func (f *function) makesModule(c *pysrc.Call) bool {
	name := f.imported(c.Func)
	if c := f.classes[name]; c != nil {
		return c.isModule()
	}
	short := last(name)
	switch {
	case strings.HasPrefix(name, "torch.nn.") && !strings.Contains(name, "Loss") && short != "Parameter":
		return !strings.HasPrefix(short, "Parameter") && short[0] >= 'A' && short[0] <= 'Z'
	case short == "from_pretrained":
		return strings.Contains(name, "Model")
	}
	return false
}

// notModel reports whether a name refers to something other than a model that has parameters() or eval().
func notModel(name string) bool {
	return hasWord(name, "optim", "sched", "scaler", "trainer", "agent", "env", "loss", "criterion", "tokenizer", "metric", "data", "loader", "sampler", "cfg", "config", "args")
}

// isModelName reports whether a name by itself suggests a model.
func isModelName(name string) bool {
	switch name = strings.ToLower(name); name {
	case "model", "net", "network", "netg", "netd", "backbone", "ddp_model", "raw_model", "base_model", "student", "generator", "discriminator":
		return true
	}
	verb, _, _ := strings.Cut(strings.TrimLeft(name, "_"), "_")
	switch verb {
	case "prepare", "get", "load", "build", "create", "make", "setup", "save", "init", "wrap", "unwrap", "compile", "convert", "push",
		"update", "evaluate", "eval", "train", "test", "run", "select", "define", "set", "reset", "freeze", "log", "is", "find", "to", "from":
		return false
	}
	return strings.HasSuffix(name, "_model") || strings.HasSuffix(name, "_net")
}

// isFrozenName reports whether a model with that name is usually not trained.
func isFrozenName(name string) bool {
	return hasWord(name, "teacher", "ref_", "_ref", "frozen", "ema", "reference", "target_net", "vae", "reward")
}

// modelCall returns the name of the model that a call runs, or "".
func (f *function) modelCall(c *pysrc.Call) string {
	name := dotted(c.Func)
	if name == "" {
		return ""
	}
	if of := strings.TrimSuffix(name, ".forward"); of != name && f.isModel(of) {
		return of
	}
	if f.isModel(name) {
		return name
	}
	on, verb := method(c)
	if of := dotted(on); of != "" && f.isOwnModel(of) && len(c.Args) > 0 && computes(verb) {
		return of
	}
	return ""
}

// computes reports whether a model's method returns activations. Many methods do something else, so only names of
// layers count.
func computes(verb string) bool {
	switch verb {
	case "encoder", "decoder", "embed", "embedding", "embeddings", "tokens", "backbone", "encode_image", "encode_text", "forward_features", "embed_tokens", "lm_head", "head":
		return true
	}
	return false
}

// isModel reports whether a call of name runs a model.
func (f *function) isModel(name string) bool {
	if name == "self" {
		return f.class.isModule()
	}
	attribute, ofSelf := strings.CutPrefix(name, "self.")
	if ofSelf && f.class != nil && f.class.layers[attribute] {
		return true
	}
	if _, imported := f.imports[name]; imported || f.defined[name] || f.classes[name] != nil {
		return false
	}
	if strings.Contains(strings.TrimPrefix(name, "self."), ".") {
		return f.isOwnModel(name)
	}
	return f.isOwnModel(name) || f.ofTraining() && isModelName(last(name))
}

// isOwnModel reports whether a name, or an attribute of self, is used as a model in this file.
func (f *function) isOwnModel(name string) bool { return f.ofTraining() && f.models[name] }

// noGradients reports whether a context or decorator switches gradients off, or may do so.
func (f *function) noGradients(e pysrc.Expr) bool {
	return anyIn(e, func(x pysrc.Expr) bool {
		name := last(dotted(x))
		switch {
		case name == "":
			return false
		case hasWord(name, "no_grad", "inference_mode", "grad_enabled", "nograd", "evaluating", "eval_mode", "evaluation_mode"):
			return true
		}
		for _, a := range f.assigns[name] { // ctx = torch.no_grad()
			if a.value != nil && a.value != e && anyIn(a.value, func(v pysrc.Expr) bool {
				return hasWord(last(dotted(v)), "no_grad", "inference_mode", "grad_enabled")
			}) {
				return true
			}
		}
		return false
	})
}
