// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// call calls a method of a part of the model.
func (m *submodule) call(in *interpreter, name string, a arguments) value {
	switch name {
	case "parameters":
		return values(m.namedParameters(in))
	case "named_parameters":
		return pairs(m.namedParameters(in))
	case "modules":
		return values(m.of.listed(in, m.path, m, false))
	case "named_modules":
		return pairs(m.of.listed(in, m.path, m, false))
	case "children":
		return values(m.of.listed(in, m.path, nil, true))
	case "named_children":
		return pairs(m.of.listed(in, m.path, nil, true))
	case "state_dict":
		d := &dict{}
		for _, p := range m.namedParameters(in) {
			d.set(p.name, p.of.(*shadow.Tensor).Detach().Hold())
		}
		return d
	case "forward":
		return m.forward(in, a)
	case "__call__":
		return m.callSelf(in, a)
	case "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook", "register_full_backward_pre_hook", "register_backward_hook":
		return m.register(in, name, a)
	case "get_input_embeddings", "get_output_embeddings", "get_submodule", "get_parameter":
		return m.of.call(in, name, a)
	case "zero_grad":
		zeroGrads(m.parameters(in))
		return nil
	case "gradient_checkpointing_enable", "gradient_checkpointing_disable", "enable_input_require_grads":
		return m.of.call(in, name, a)
	}
	m.changes(in, name, a)
	return hold(m)
}

// changes calls a method that changes the part of the model and returns it.
func (m *submodule) changes(in *interpreter, name string, a arguments) {
	switch name {
	case "requires_grad_":
		for _, p := range m.parameters(in) {
			drop(requiresGrad(in, p, a))
		}
	case "train", "eval":
		on, ok := a.or(0, "mode", true).(bool)
		m.setTraining(in, (on || !ok) && name == "train")
	case "to", "cuda", "half", "bfloat16", "float", "double":
		if _, dt := moveTo(name, a); dt != shadow.None {
			for _, p := range m.parameters(in) {
				p.CastInPlace(dt)
			}
		}
	case "cpu":
		in.note("moving a part of the model to the host is not followed; the run needs less memory than shown")
	default:
		in.noteTensors("this method of a part of the model", a)
	}
}

// namedParameters returns the part's parameters, with their names relative to the part.
func (m *submodule) namedParameters(in *interpreter) (out []member) {
	for _, p := range m.parameters(in) {
		name := strings.TrimPrefix(p.Name(), m.path+".")
		if !m.has(p.Name()) {
			name = "weight" // the parameter belongs to another module
		}
		out = append(out, member{name, p})
	}
	return out
}

// listed returns the modules inside the module at path, with names relative to it: self first, unless it is nil,
// then all modules or only direct children.
func (n *network) listed(in *interpreter, path string, self value, direct bool) (out []member) {
	if self != nil {
		out = append(out, member{"", self})
	}
	for _, m := range n.modules(in, path) {
		name := m.Path
		if path != "" {
			name = strings.TrimPrefix(name, path+".")
		}
		if !direct || !strings.Contains(name, ".") {
			out = append(out, member{name, n.module(m.Path)})
		}
	}
	return out
}

// embeddings implements get_output_embeddings() if out is set, otherwise get_input_embeddings().
func (n *network) embeddings(in *interpreter, out bool) value {
	found := ""
	for _, m := range n.modules(in, "") {
		_, last, _ := cutLast(m.Path)
		if !out && m.Kind == "Embedding" {
			return n.at(m.Path)
		}
		if out && m.Kind == "Linear" && outputs[last] {
			found = m.Path
		}
	}
	if found == "" {
		return unknown{}
	}
	return n.at(found)
}

// outputs are the names of layers that compute logits over the vocabulary.
var outputs = map[string]bool{"lm_head": true, "decoder": true, "embed_out": true, "vocab_projector": true}

// submoduleAt implements get_submodule(path).
func (n *network) submoduleAt(in *interpreter, a arguments) value {
	path, _ := a.or(0, "target", "").(string)
	for _, m := range n.modules(in, "") {
		if m.Path == path {
			return hold(n.module(path))
		}
	}
	return unknown{}
}

// callSelf calls a part of the model directly: the model without its head, or a single layer.
func (m *submodule) callSelf(in *interpreter, a arguments) value {
	if m.path == m.of.base(in) {
		return in.forwardBase(m.of, a)
	}
	x, ok := a.or(0, "input", nil).(*shadow.Tensor)
	if ok && m.detached && m.inner != nil {
		return together(m.inner(x))
	}
	layer := m.of.there(in).Layer(m.path)
	if !ok || layer == nil {
		in.noteTensors("a part of the model that is called directly", a)
		return unknown{}
	}
	return in.World.Call(layer, x).Hold()
}
