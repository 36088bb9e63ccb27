// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// torch.utils.checkpoint.checkpoint applied to a function of the script (torch/utils/checkpoint.py, 2.11).

func registerCheckpoint() {
	natives["torch.utils.checkpoint.checkpoint"] = checkpointed
}

// checkpointOptions are the arguments of checkpoint that it does not pass on to the function.
var checkpointOptions = []string{"use_reentrant", "preserve_rng_state", "context_fn", "determinism_check", "debug", "early_stop"}

// checkpointed implements checkpoint(function, *args, use_reentrant=…, **kwargs). The default is
// use_reentrant=True.
func checkpointed(in *interpreter, a arguments) value {
	fn, ok := a.get(0, "function")
	if !ok {
		return unknown{}
	}
	call := arguments{pos: a.pos[min(1, len(a.pos)):]}
	for i, name := range a.names {
		if name != "function" && !slices.Contains(checkpointOptions, name) {
			call.names, call.named = append(call.names, name), append(call.named, a.named[i])
		}
	}
	if c, ok := a.get(-1, "context_fn"); ok && c != nil {
		in.note("a checkpoint's context_fn is not followed; the run needs more memory than shown if it keeps activations")
	}
	if older, ok := a.or(-1, "use_reentrant", true).(bool); older || !ok {
		return in.checkpointOlder(fn, call)
	}
	return in.checkpointNewer(fn, call)
}

// checkpointNewer implements use_reentrant=False. The function and its arguments are kept until the region is done.
func (in *interpreter) checkpointNewer(fn value, call arguments) value {
	hold(fn)
	call.held()
	var out value
	ran := false
	body := func() {
		v := in.abandoning(func() value { return in.invoke(fn, call.held()) })
		if ran {
			drop(v)
			return
		}
		out, ran = v, true
	}
	in.World.CheckpointRegion(nil, body, func() {
		call.drop()
		drop(fn)
	})
	return out
}

// checkpointOlder implements use_reentrant=True, for a function that returns one tensor.
func (in *interpreter) checkpointOlder(fn value, call arguments) value {
	var inputs []*shadow.Tensor
	for _, v := range call.pos {
		if t, ok := v.(*shadow.Tensor); ok {
			inputs = append(inputs, t)
		}
	}
	hold(fn) // the graph may run fn again at any time, so fn is never dropped
	pos := slices.Clone(call.pos)
	for _, v := range pos {
		if _, ok := v.(*shadow.Tensor); !ok {
			hold(v)
		}
	}
	var plain value
	out := in.World.CheckpointFunction(inputs, func(inputs []*shadow.Tensor) *shadow.Tensor {
		args := arguments{pos: slices.Clone(pos), names: call.names, named: call.named}
		next := 0
		for i, v := range args.pos {
			if _, ok := v.(*shadow.Tensor); ok {
				args.pos[i] = inputs[next]
				next++
			}
		}
		v := in.invoke(fn, args.held())
		if t, ok := v.(*shadow.Tensor); ok {
			return t
		}
		plain = v
		in.note("a reentrant checkpoint of a function that returns more than one tensor is not followed; the run needs less memory than shown")
		return nil
	})
	if out == nil {
		drop(plain)
		return in.invoke(fn, call.held())
	}
	return out
}

// abandoning runs f. If a checkpoint stops f early because nothing more needs to be recomputed, everything held
// by the functions inside f is dropped, as for an exception.
func (in *interpreter) abandoning(f func() value) value {
	scopes, pending, at := len(in.scopes), len(in.pending), in.at
	defer func() {
		if e := recover(); e != nil {
			in.abandon(scopes, pending)
			in.at = at
			panic(e)
		}
	}()
	return f()
}

// abandon drops the values of unfinished expressions and the variables of unfinished functions, innermost first.
func (in *interpreter) abandon(scopes, pending int) {
	for i := len(in.pending) - 1; i >= pending; i-- {
		drop(in.pending[i])
	}
	in.pending = in.pending[:pending]
	for i := len(in.scopes) - 1; i >= scopes; i-- {
		in.scopes[i].leave()
	}
	in.scopes = in.scopes[:scopes]
}

// pend records values of an unfinished expression; finish(mark) forgets them.
func (in *interpreter) pend(vs ...value) (mark int) {
	mark = len(in.pending)
	in.pending = append(in.pending, vs...)
	return mark
}

func (in *interpreter) finish(mark int) { in.pending = in.pending[:min(mark, len(in.pending))] } // a generator may have fewer pending values
