// SPDX-License-Identifier: Apache-2.0

package script

import (
	"runtime"
	"slices"
	"strings"

	"snug/internal/shadow"
)

// Operations on tensors in host memory. They run in a separate world whose events are discarded, so that the same
// code computes shapes on the host and on the card.

// maxScratch is the number of events after which the host's world is replaced by a new one.
const maxScratch = 1 << 14

// onHost calls f in the host's world. Host tensors among the arguments become tensors of that world, and tensors in
// the result become host tensors. If f cannot determine the shapes, the result is unknown.
func (in *interpreter) onHost(a arguments, f func(a arguments) value) (out value) {
	card, notes, listed := in.World, len(in.result.Notes), in.scopes
	if in.host == nil || len(in.host.Trace.Events) > maxScratch {
		in.host = shadow.NewWorld(card.Rules)
		in.host.SetGrad(false)
	}
	in.World = in.host
	defer func() {
		in.World, in.scopes = card, listed
		switch e := recover().(type) {
		case nil:
		case string, runtime.Error: // the shapes do not match, because a value is only partly known
			out = unknown{}
		default:
			panic(e)
		}
		if isUnknown(out) { // drop the notes, because the failed operation uses no memory on the card
			in.result.Notes = in.result.Notes[:notes]
		}
	}()
	return in.asHost(f(arguments{pos: in.asCard(a.pos), names: a.names, named: in.asCard(a.named)}))
}

// asCard returns values with host tensors replaced by tensors of the current world.
func (in *interpreter) asCard(vs []value) []value {
	out := slices.Clone(vs)
	for i, v := range out {
		switch v := v.(type) {
		case *hostTensor:
			out[i] = in.onto(v)
		case *list:
			in.grow(len(v.items))
			out[i] = &list{items: in.asCard(v.items), tuple: v.tuple}
		}
	}
	return out
}

// asHost returns v with tensors of the current world replaced by host tensors: the reverse of asCard.
func (in *interpreter) asHost(v value) value {
	switch v := v.(type) {
	case *shadow.Tensor:
		return &hostTensor{size: sizeOf(v), dtype: v.DType()}
	case *list:
		out := &list{tuple: v.tuple}
		for _, x := range v.items {
			out.items = append(out.items, in.asHost(x))
		}
		return out
	}
	return v
}

// hostOnly reports whether the values include host tensors and no tensors on the card.
func hostOnly(vs ...value) bool {
	found := false
	var once visited
	for _, v := range vs {
		if _, ok := v.(*dict); ok {
			continue
		}
		onCard := once.inside(v, func(x value) bool {
			switch x.(type) {
			case *shadow.Tensor:
				return true
			case *hostTensor:
				found = true
			}
			return false
		})
		if onCard {
			return false
		}
	}
	return found
}

// hostFunction calls a torch function if all its tensors are on the host; otherwise ok is false.
func (in *interpreter) hostFunction(path string, a arguments) (v value, ok bool) {
	f := natives[path]
	name, isTorch := strings.CutPrefix(path, "torch.")
	if f == nil || !isTorch || !hostOnly(append(slices.Clone(a.pos), a.named...)...) {
		return nil, false
	}
	if !strings.HasPrefix(name, "nn.functional.") && tensorMethods[name] == nil && !slices.Contains([]string{"outer", "einsum", "where"}, name) {
		return nil, false
	}
	v = in.onHost(a, func(a arguments) value { return f(in, a) })
	if h, ok := v.(*hostTensor); ok {
		h.causal = name == "triu"
	}
	return v, !isUnknown(v)
}

// hostOperation returns l op r and true if both are in host memory. If tensorOperation does not support the
// operator, only the result's shape and type are known.
func (in *interpreter) hostOperation(op string, l, r value) (value, bool) {
	_, left := l.(*hostTensor)
	_, right := r.(*hostTensor)
	if !left && !right || !hostOnly(l, r) {
		return nil, false // neither operand is itself a host tensor, or one is on the card
	}
	v := in.onHost(arguments{pos: []value{l, r}}, func(a arguments) value {
		v, _ := in.tensorOperation(op, a.pos[0], a.pos[1])
		return v
	})
	if _, ok := v.(*hostTensor); ok {
		return v, true
	}
	return hostSizes(op, l, r)
}

// hostIndex implements t[key] for keys other than numbers and slices without steps.
func (in *interpreter) hostIndex(t *hostTensor, key value) value {
	return in.onHost(arguments{pos: []value{t, key}}, func(a arguments) value {
		return in.indexTensor(a.pos[0].(*shadow.Tensor), a.pos[1])
	})
}

// plainIndex reports whether indexHost handles a key itself.
func plainIndex(key value) bool {
	switch k := key.(type) {
	case *list:
		return k.tuple && !slices.ContainsFunc(k.items, func(x value) bool { return !plainIndex(x) })
	case *slice:
		return k.step == nil
	case int, *place, unknown:
		return true
	}
	return false
}
