// SPDX-License-Identifier: Apache-2.0

package script

// Hooks on modules that the script defines or takes from torch.nn. Those on parts of a model that snug knows are in
// submodule_around.go.

// registerHook implements register_forward_hook and similar methods.
func (in *interpreter) registerHook(o *instance, name string, a arguments) value {
	h := &hookHandle{fn: hold(a.or(0, "hook", nil))}
	h.kwargs, _ = a.or(-1, "with_kwargs", false).(bool)
	switch name {
	case "register_forward_hook":
		o.after = append(o.after, h)
	case "register_forward_pre_hook":
		o.before = append(o.before, h)
	default:
		in.note("hooks on a module's backward are not followed; the run needs more memory than shown if they keep gradients")
	}
	return h
}

// hooked calls a module's forward with its hooks, as Module._call_impl does. It takes ownership of the arguments.
func (in *interpreter) hooked(o *instance, args arguments, forward func(args arguments) value) value {
	for _, h := range o.before {
		if !h.gone {
			args = in.beforeForward(o, h, args)
		}
	}
	given := args.held()
	out := forward(args)
	for _, h := range o.after {
		if h.gone {
			continue
		}
		to := []value{hold(o), tupleOf(arguments{pos: given.pos}.held().pos...)}
		if h.kwargs {
			to = append(to, in.keywords(given))
		}
		v := in.invoke(h.fn, arguments{pos: append(to, hold(out))})
		if v != nil && !isUnknown(v) {
			drop(out)
			out = v
		}
	}
	given.drop()
	return out
}

// keywords returns the named arguments as a dict.
func (in *interpreter) keywords(a arguments) *dict {
	d := &dict{}
	for i, n := range a.names {
		d.set(n, hold(a.named[i]))
	}
	return d
}

// beforeForward calls a hook before the forward, and returns the arguments that the forward gets.
func (in *interpreter) beforeForward(o *instance, h *hookHandle, args arguments) arguments {
	given := args.held()
	to := []value{hold(o), tupleOf(given.pos...)}
	if h.kwargs {
		to = append(to, in.keywords(given))
	}
	dropAll(given.named)
	v := in.invoke(h.fn, arguments{pos: to})
	if v == nil || isUnknown(v) {
		return args
	}
	defer drop(v)
	l, several := v.(*list)
	switch {
	case h.kwargs && several && len(l.items) == 2:
		pos, okP := l.items[0].(*list)
		named, okN := l.items[1].(*dict)
		if !okP || !okN {
			return args
		}
		args.drop()
		out := arguments{pos: in.items(pos, 0)}
		for i, k := range named.keys {
			if name, ok := k.(string); ok {
				out.names, out.named = append(out.names, name), append(out.named, hold(named.vals[i]))
			}
		}
		return out
	case several && l.tuple:
		dropAll(args.pos)
		args.pos = in.items(l, 0)
	default:
		dropAll(args.pos)
		args.pos = []value{hold(v)}
	}
	return args
}
