// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"

	"snug/internal/shadow"
)

// around is what a script has changed about a module's forward: hooks, a replaced forward, a different mode.
type around struct {
	before, after []*hookHandle
	eval          *bool // the mode set by this module's train() or eval(); nil if neither was called
	reached       bool  // the module has been called
	inner         func(x *shadow.Tensor) []*shadow.Tensor
}

// hookHandle is a module's hook and the handle that removes it.
type hookHandle struct {
	fn     value
	kwargs bool // with_kwargs=True
	gone   bool
}

func (h *hookHandle) call(_ *interpreter, name string, _ arguments) value {
	if name != "remove" {
		return unknown{}
	}
	if !h.gone {
		h.gone = true
		drop(h.fn)
	}
	return nil
}

// register implements register_forward_hook and similar methods.
func (m *submodule) register(in *interpreter, name string, a arguments) value {
	h := &hookHandle{fn: hold(a.or(0, "hook", nil))}
	h.kwargs, _ = a.or(-1, "with_kwargs", false).(bool)
	switch name {
	case "register_forward_hook":
		m.after = append(m.after, h)
	case "register_forward_pre_hook":
		m.before = append(m.before, h)
	default:
		in.note("hooks on a module's backward are not followed; the run needs more memory than shown if they keep gradients")
	}
	return h
}

// set implements module.name = v.
func (m *submodule) set(in *interpreter, name string, v value) {
	switch o := v.(type) {
	case *instance:
		if m.of.replaces(in, m.path+"."+name, o) {
			return
		}
		if isModule(o) {
			in.note(notFollowed)
		}
	case *list, *submodule, *network, *shadow.Tensor, unknown:
		in.note(notFollowed)
		return
	}
	m.own.set(name, hold(v))
}

// evaluates reports whether the module is in evaluation mode.
func (m *submodule) evaluates() bool {
	if m.eval != nil {
		return *m.eval
	}
	return m.of.mode.Eval
}

// setTraining implements train() and eval() for a part of the model and all modules in it.
func (m *submodule) setTraining(in *interpreter, on bool) {
	off := !on
	if m.path == m.of.base(in) {
		m.of.setMode(off)
		return
	}
	m.eval = &off
	for _, inner := range m.of.modules(in, m.path) {
		m.of.lent(inner.Path).eval = &off
	}
}

// setMode implements train() and eval() for the whole model.
func (n *network) setMode(eval bool) {
	n.mode.Eval = eval
	n.setReplaced(!eval)
	for _, m := range n.parts {
		m.eval = nil
	}
}

// changed reports whether a script has changed anything about the module's forward.
func (m *submodule) changed() bool {
	_, patched := m.own.get("forward")
	return patched || hooked(m.before) || hooked(m.after) || m.eval != nil && *m.eval != m.of.mode.Eval
}

func hooked(hs []*hookHandle) bool {
	for _, h := range hs {
		if !h.gone {
			return true
		}
	}
	return false
}

// surrounded runs a forward of the model with the script's changes to its parts. embeds replaces the output of
// the model's embedding, unless it is nil.
func (in *interpreter) surrounded(n *network, embeds *shadow.Tensor, forward func()) {
	all := map[string]shadow.Around{}
	for path, m := range n.parts {
		if m.changed() {
			all[path] = m.surrounds(in)
		}
	}
	for _, r := range n.replaced {
		all[r.called] = r.runs(in)
	}
	if embeds != nil {
		m, _ := n.embeddings(in, false).(*submodule)
		if m == nil {
			in.fail("the embedding that inputs_embeds replaces is not known")
		}
		drop(m)
		all[m.path] = func(*shadow.Tensor, []*shadow.Tensor, func(*shadow.Tensor) []*shadow.Tensor) []*shadow.Tensor {
			return []*shadow.Tensor{embeds.Hold()}
		}
	}
	in.World.Surround(all, forward)
	for _, r := range n.replaced {
		if !r.reached {
			in.note("the script's replacement for the model's %s is never called in the simulation; the model's own module is counted", shortPath(r.path))
		}
	}
	for path, m := range n.parts {
		if all[path] != nil && m.changed() && !m.reached && m.eval == nil {
			in.note("the script's hooks at every call of the model's %s are not followed", path)
		}
	}
}

// surrounds returns the function that is called in place of the module, like nn.Module._call_impl.
func (m *submodule) surrounds(in *interpreter) shadow.Around {
	return func(x *shadow.Tensor, others []*shadow.Tensor, forward func(x *shadow.Tensor) []*shadow.Tensor) []*shadow.Tensor {
		m.reached = true
		if m.eval != nil {
			was := in.World.Eval
			in.World.Eval = *m.eval
			defer func() { in.World.Eval = was }()
		}
		for _, h := range m.before {
			if v := m.hook(in, h, x, nil); v != nil {
				in.note("the input returned by this hook is not followed")
				drop(v)
			}
		}
		out := m.forwards(in, x, others, forward)
		for _, h := range m.after {
			out = withHooked(in, out, m.hook(in, h, x, out))
		}
		return out
	}
}

// hook calls a hook with the module, its input and, after the forward, its output.
func (m *submodule) hook(in *interpreter, h *hookHandle, x *shadow.Tensor, out []*shadow.Tensor) value {
	if h.gone {
		return nil
	}
	args := []value{hold(m), tupleOf(x.Hold())}
	if h.kwargs {
		args = append(args, &dict{open: true})
	}
	if out != nil {
		args = append(args, together(out))
	}
	return in.invoke(h.fn, arguments{pos: args})
}

// together returns the results of a forward as a tensor or a tuple, with its own references.
func together(out []*shadow.Tensor) value {
	if len(out) == 1 {
		return out[0].Hold()
	}
	l := &list{tuple: true}
	for _, t := range out {
		if t == nil {
			l.items = append(l.items, nil)
			continue
		}
		l.items = append(l.items, t.Hold())
	}
	return l
}

// withHooked returns the results of a forward after a hook or a replaced forward has returned v. It takes
// ownership of v.
func withHooked(in *interpreter, out []*shadow.Tensor, v value) []*shadow.Tensor {
	got := in.tensors(v)
	if v == nil || len(got) == 0 || len(got) > len(out) {
		if v != nil {
			in.note("the value returned here in place of a module's output is not followed")
		}
		drop(v)
		return out
	}
	for i, t := range got {
		t.Hold()
		out[i].Drop()
		out[i] = t
	}
	drop(v)
	return out
}

// forwards runs the module's forward, or the function with which the script has replaced it.
func (m *submodule) forwards(in *interpreter, x *shadow.Tensor, others []*shadow.Tensor, forward func(x *shadow.Tensor) []*shadow.Tensor) []*shadow.Tensor {
	f, ok := m.own.get("forward")
	if !ok {
		return held(forward(x))
	}
	m.inner = forward
	args := []value{x.Hold()}
	for _, t := range others {
		if t != nil {
			args = append(args, t.Hold())
		}
	}
	v := in.invoke(f, arguments{pos: args})
	got := in.tensors(v)
	if len(got) == 0 {
		drop(v)
		in.note("the forward set for the model's %s is not followed", shortPath(m.path))
		return held(forward(x))
	}
	out := held(got)
	if len(out) == 1 {
		out = append(out, nil) // the attention weights
	}
	drop(v)
	return out
}

// shortPath returns the path of a block without the block's number.
func shortPath(path string) string {
	steps := strings.Split(path, ".")
	for i, s := range steps {
		if s != "" && s[0] >= '0' && s[0] <= '9' {
			steps[i] = "*"
		}
	}
	return strings.Join(steps, ".")
}

func held(ts []*shadow.Tensor) []*shadow.Tensor {
	for _, t := range ts {
		t.Hold()
	}
	return ts
}

// forward implements module.forward(x, …): it always runs the module's own, even if the script has replaced it.
func (m *submodule) forward(in *interpreter, a arguments) value {
	x, ok := a.or(0, "hidden_states", nil).(*shadow.Tensor)
	if !ok || m.inner == nil {
		return m.callSelf(in, a)
	}
	out := held(m.inner(x))
	v := together(out)
	for _, t := range out {
		t.Drop()
	}
	return v
}

// withIDs returns the arguments of a model with token ids of inputs_embeds' shape added. The ids use no memory,
// because only their shape is needed.
func (in *interpreter) withIDs(embeds *shadow.Tensor, a arguments) arguments {
	var ids *shadow.Tensor
	in.World.OnHost(func() { ids = in.World.Input(shadow.Int64, embeds.Size(0), embeds.Size(1)) })
	out := arguments{pos: append([]value{ids}, a.pos[min(1, len(a.pos)):]...)}
	for i, name := range a.names {
		if name != "input_ids" {
			out.names, out.named = append(out.names, name), append(out.named, a.named[i])
		}
	}
	return out
}
