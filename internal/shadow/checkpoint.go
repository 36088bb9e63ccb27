// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

// Both kinds of activation checkpointing (torch/utils/checkpoint.py, 2.11).
//
// The newer one (use_reentrant=False) runs the region with hooks on the tensors that autograd saves: only a
// placeholder is kept. The first node of the region that needs its tensors in backward makes the region
// run again. This time the hooks keep the tensors. Recomputation stops when the last placeholder is filled, if
// necessary in the middle of an op. Each recomputed tensor is freed with the node that used it.
//
// A region inside a region saves its first input as a node would: only the outer region's second run makes it, and it is
// freed once the inner region has run again.
//
// The older one (use_reentrant=True) runs the region without a graph and keeps its input. In backward it runs the
// whole region again, and then a backward through it.

// hooks are the active saved-tensor hooks.
type hooks struct {
	region *region
	replay bool
}

// region is one checkpointed call.
type region struct {
	w        *World
	again    func()
	inputs   []*Tensor
	holders  []*holder
	at       int // index of the next holder to fill
	replayed bool
	users    int // holders that nodes still refer to, plus one during the first run
	done     func()
	saver    *holder         // has the first input of a region inside another; otherwise nil
	restore  func(x *Tensor) // sets the first input for the second run
}

// holder is the placeholder for one saved tensor.
type holder struct {
	region *region
	t      *Tensor
	gone   bool
}

// stopRecomputation is the panic value that stops a recomputation early.
type stopRecomputation struct{ r *region }

// pack is called for each tensor that autograd saves inside a region, for the new node n.
func (h *hooks) pack(n *node, t *Tensor) *holder {
	r := h.region
	r.w.host(HostHook)
	if !h.replay {
		p := &holder{region: r}
		r.holders = append(r.holders, p)
		r.users++
		return p
	}
	if r.at < len(r.holders) {
		if p := r.holders[r.at]; !p.gone {
			p.t = t.alias(t.size, t.stride).Hold()
		}
	}
	r.at++
	if r.at == len(r.holders) {
		if n != nil {
			n.end()
		}
		panic(stopRecomputation{r})
	}
	return nil
}

// kept returns what the graph itself keeps: nothing in the first run, the tensor when the region runs again.
func (h *hooks) kept(t *Tensor) *Tensor {
	if !h.replay {
		return nil
	}
	return t.alias(t.size, t.stride).Hold()
}

// unpack makes a node's saved tensors available, recomputing its region if necessary. It returns the tensors that
// came from a region; the node releases them after it has run.
func (n *node) unpack() []*Tensor {
	var out []*Tensor
	for _, s := range n.saved {
		p := s.holder
		if p == nil {
			continue
		}
		if !p.region.replayed {
			p.region.recompute()
		}
		n.w.host(HostHook)
		s.t, p.t = p.t, nil
		out = append(out, s.t)
	}
	return out
}

// leave is called when a node releases its holder. The last holder to be released frees everything that the region
// kept for its second run.
func (p *holder) leave() {
	p.gone = true
	p.t.Drop()
	p.t = nil
	p.region.leave()
}

func (r *region) leave() {
	if r.users--; r.users > 0 {
		return
	}
	for _, t := range r.inputs {
		t.Drop()
	}
	if r.saver != nil {
		r.saver.leave()
	}
	if r.done != nil {
		r.done()
	}
}

// Checkpoint runs body, which takes x, without keeping the tensors it saves. reentrant selects the older kind.
// others are the tensors that body uses besides x; they are kept as long as the region may run again.
func (w *World) Checkpoint(reentrant bool, x *Tensor, body func(x *Tensor) *Tensor, others ...*Tensor) *Tensor {
	if !w.gradMode {
		return body(x)
	}
	if reentrant {
		return w.checkpointReentrant(x, body, others)
	}
	var out *Tensor
	run := func() { out = body(x) }
	if w.hooks == nil {
		w.CheckpointRegion(append([]*Tensor{x}, others...), run, nil)
		return out
	}
	grad := x.requiresGrad
	r := &region{w: w, inputs: others, users: 1, restore: func(again *Tensor) {
		again.requiresGrad, again.leaf = grad, grad
		x = again
	}}
	r.saver = w.hooks.pack(nil, x)
	w.checkpointRegion(r, run)
	return out
}

// CheckpointRegion runs body without keeping the tensors it saves, as a non-reentrant checkpoint does. inputs are kept
// as long as the region may run again; then done is called, unless it is nil.
func (w *World) CheckpointRegion(inputs []*Tensor, body, done func()) {
	if !w.gradMode {
		body()
		if done != nil {
			done()
		}
		return
	}
	w.checkpointRegion(&region{w: w, inputs: inputs, done: done, users: 1}, body)
}

func (w *World) checkpointRegion(r *region, body func()) {
	for _, t := range r.inputs {
		t.Hold()
	}
	cast, around, eval := w.autocast, w.around, w.Eval
	locals := w.localValues()
	r.again = func() {
		was := w.Eval
		w.Eval = eval
		defer func() { w.Eval = was }()
		defer w.setLocals(locals)()
		w.Surround(around, func() { w.withAutocast(cast, body) })
	}
	outer := w.hooks
	w.hooks = &hooks{region: r}
	body()
	w.hooks = outer
	r.leave()
}

// Local registers a variable that each forward of a model sets and its checkpointed layers read. A region that
// runs again sees the value from its own forward, even if the model has been called since. Regions hold these
// tensors.
func (w *World) Local(at **Tensor) {
	if !slices.Contains(w.locals, at) {
		w.locals = append(w.locals, at)
	}
}

// localValues returns the current values of the variables.
func (w *World) localValues() []*Tensor {
	out := make([]*Tensor, len(w.locals))
	for i, at := range w.locals {
		out[i] = *at
	}
	return out
}

// setLocals sets the variables to these values until the returned function is called.
func (w *World) setLocals(values []*Tensor) func() {
	was := w.localValues()
	set := func(values []*Tensor) {
		for i, t := range values {
			*w.locals[i] = t
		}
	}
	set(values)
	return func() { set(was) }
}

// recompute runs the region again until its last holder is filled.
func (r *region) recompute() {
	w := r.w
	r.replayed = true
	if p := r.saver; p != nil {
		if !p.region.replayed {
			p.region.recompute()
		}
		x := p.t
		p.t = nil
		r.restore(x)
		defer x.Drop()
	}
	grad, outer, depth, pins := w.gradMode, w.hooks, w.depth, len(w.pins)
	path, iteration := w.path, w.folding.now
	watch := w.watch
	w.gradMode, w.hooks, w.watch = true, &hooks{region: r, replay: true}, []*Tensor{}
	defer w.As(Activations)()
	defer func() {
		w.gradMode, w.hooks = grad, outer
		made := w.watch
		w.watch = watch
		w.enter(iteration)
		if e := recover(); e != nil {
			if s, ok := e.(stopRecomputation); !ok || s.r != r {
				panic(e)
			}
			w.unwind(depth, pins)
			w.path = path
		}
		for _, t := range made {
			if t.refs == 0 && !t.dead {
				t.die()
			}
		}
	}()
	r.again()
}

// watched records a tensor created while a region recomputes.
func (w *World) watched(t *Tensor) {
	if w.watch != nil {
		w.watch = append(w.watch, t)
	}
}

// unwind leaves the functions that an exception passed through, innermost
// first.
func (w *World) unwind(depth, pins int) {
	w.unpin(pins)
	for w.depth > depth {
		w.frames[w.depth-1].exit()
	}
}

// checkpointReentrant is use_reentrant=True: torch.utils.checkpoint.CheckpointFunction.
func (w *World) checkpointReentrant(x *Tensor, body func(x *Tensor) *Tensor, others []*Tensor) *Tensor {
	n := w.record("CheckpointFunctionBackward", x)
	kept := n.save(x)
	for _, t := range others {
		n.hold(t)
	}
	w.gradMode = false
	x.Hold()
	out := body(x)
	x.loosen()
	w.gradMode = true
	cast, around, locals := w.autocast, w.around, w.localValues()
	n.backward(func(g *Tensor) []*Tensor {
		defer w.setLocals(locals)()
		in := kept.get().alias(x.size, x.stride).Hold()
		in.requiresGrad, in.leaf = true, true
		w.gradMode = true
		var y *Tensor
		back := w.As(Activations)
		w.Surround(around, func() { w.withAutocast(cast, func() { y = body(in).Hold() }) })
		back()
		w.gradMode = false
		w.backward(y, g)
		y.Drop()
		gx := in.grad
		if in.refs == 1 {
			in.grad = nil
		} else {
			gx.Hold() // a hook keeps the input, and with it the input's gradient
		}
		in.Drop()
		return inputGrads(gx.loosen())
	})
	return n.result(out, x)
}

// CheckpointFunction is a reentrant checkpoint of a function with several inputs. Both body and
// CheckpointFunction return their result with a reference for the caller.
func (w *World) CheckpointFunction(inputs []*Tensor, body func(inputs []*Tensor) *Tensor) *Tensor {
	n := w.record("CheckpointFunctionBackward", inputs...)
	if n == nil {
		defer w.NoGrad()()
		return body(inputs)
	}
	kept := make([]*saved, len(inputs))
	for i, t := range inputs {
		kept[i] = n.save(t)
	}
	w.gradMode = false
	out := body(inputs)
	w.gradMode = true
	cast := w.autocast
	n.backward(func(g *Tensor) []*Tensor {
		again := make([]*Tensor, len(kept))
		for i, s := range kept {
			t := s.get()
			again[i] = t.alias(t.size, t.stride).Hold()
			again[i].requiresGrad, again[i].leaf = n.next[i].to != nil, n.next[i].to != nil
		}
		return w.backwardAgain(again, g, cast, body)
	})
	n.output(out, 0)
	return out
}

// backwardAgain runs the function again, with a graph, and a backward through it.
func (w *World) backwardAgain(inputs []*Tensor, g *Tensor, cast DType, body func(inputs []*Tensor) *Tensor) []*Tensor {
	var y *Tensor
	w.gradMode = true
	back := w.As(Activations)
	w.withAutocast(cast, func() { y = body(inputs) })
	back()
	w.gradMode = false
	w.backward(y, g)
	y.Drop()
	grads := make([]*Tensor, len(inputs))
	for i, t := range inputs {
		grads[i] = t.grad
		t.grad = nil
		t.Drop()
		grads[i].loosen()
	}
	return grads
}
