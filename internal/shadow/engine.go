// SPDX-License-Identifier: Apache-2.0

package shadow

// The backward pass, as torch/csrc/autograd/engine.cpp runs it (2.11).
//
// A node runs when all its gradients have arrived, the most recently recorded first. For each node the engine
// unpacks the saved tensors, computes, converts each result to its input's shape and type, drops the incoming
// gradients, releases the saved tensors, and only then passes the results on. Where two gradients meet, the
// second is added into the first in place if the first is dense and nothing else refers to it; otherwise the sum
// is a new tensor.

// engine is one call of backward.
type engine struct {
	w     *World
	ready []*node // a heap: the highest sequence number first
	stamp uint64
	keeps bool // retain_graph: saved tensors are kept
	only  *capturing
}

// Backward runs the graph behind t, which must be a scalar, and leaves the
// gradients in its leaves.
func (t *Tensor) Backward() {
	w := t.w
	w.Op("ones_like")
	g := t.EmptyLike(t.dtype)
	w.backward(t, g)
}

// BackwardWith is t.backward(g, retain_graph). A nil g means ones. If keeps is set, the graph can be run again.
func (t *Tensor) BackwardWith(g *Tensor, keeps bool) {
	t.w.retains = keeps
	if g == nil {
		t.Backward()
	} else {
		t.w.backward(t, g)
	}
	t.w.retains = false
}

// BackwardTemporary is (expression).backward(): the expression's value is freed
// when the call returns.
func BackwardTemporary(t *Tensor) {
	t.Hold()
	t.Backward()
	t.Drop()
}

// backward runs the graph from a root with its initial gradient. The caller keeps the gradient until the end, as
// Tensor.backward does.
func (w *World) backward(root, g *Tensor) {
	g.Hold()
	grad, thread, component, path, iteration := w.gradMode, w.thread, w.component, w.path, w.folding.now
	w.gradMode, w.thread, w.component, w.path = false, backwardThread, Temporaries, nil
	w.stamp++
	e := &engine{w: w, stamp: w.stamp, keeps: w.retains, only: w.only}
	start := root.fn
	e.count(start)
	start.deps = 0
	e.add(start, root.nr, g)
	for len(e.ready) > 0 {
		e.evaluate(e.pop())
	}
	w.enter(iteration)
	if w.afterBackward != nil && thread == forwardThread {
		w.afterBackward()
	}
	w.gradMode, w.thread, w.component, w.path = grad, thread, component, path
	g.Drop()
}

// count counts the gradients that each node waits for.
func (e *engine) count(root *node) {
	stack := []*node{root}
	root.seen = e.stamp
	root.deps = 0
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for i := range n.next {
			to := n.next[i].to
			if to == nil {
				continue
			}
			if to.seen != e.stamp {
				to.seen, to.deps = e.stamp, 0
				stack = append(stack, to)
			}
			to.deps++
		}
	}
}

// evaluate runs one node.
func (e *engine) evaluate(n *node) {
	in := n.in
	n.in = nil
	e.w.enter(n.iteration)
	if e.only != nil && !e.only.take(n, in) {
		return
	}
	if n.leaf != nil {
		if len(in) == 0 {
			in = append(in, nil)
		}
		e.w.accumulateGrad(n.leaf, in[0])
		return
	}
	for _, hook := range n.before {
		hook()
	}
	e.w.keepIncoming(n, in)
	unpacked := n.unpack()
	e.w.asBackward(n)
	e.w.host(HostNode)
	e.w.Op(n.name)
	out := n.run(in)
	for _, g := range out {
		g.Hold()
	}
	n.forget(unpacked)
	n.validate(out)
	for _, g := range in {
		g.Drop()
	}
	if e.w.waiting != nil {
		e.w.takeWaiting(n)
	}
	if !e.keeps {
		n.release()
	}
	e.handOn(n, out)
}

// run computes the gradients of a node's inputs.
func (n *node) run(g []*Tensor) []*Tensor {
	if n.back != nil {
		return n.back(g[0])
	}
	return n.backs(g)
}

// forget frees the tensors that a node unpacked from a checkpoint. They are locals of its function, so they are
// released in reverse order when it returns.
func (n *node) forget(unpacked []*Tensor) {
	if len(unpacked) == 0 {
		return
	}
	for _, s := range n.saved {
		if s.holder != nil {
			s.t = nil
		}
	}
	for i := len(unpacked) - 1; i >= 0; i-- {
		unpacked[i].Drop()
	}
}

// validate is validate_outputs: each gradient is summed to its input's shape and cast to its input's type.
func (n *node) validate(out []*Tensor) {
	for i, g := range out {
		if g == nil {
			continue
		}
		ed := &n.next[i]
		if !n.wants(i) {
			out[i] = nil
			g.Drop()
			continue
		}
		if g.size != ed.size {
			g = Replace(g, g.sumTo(ed.size))
		}
		if g.dtype != ed.dtype {
			g = Replace(g, g.cast(ed.dtype))
		}
		out[i] = g
	}
}

// Replace moves a reference from one tensor to another.
func Replace(old, by *Tensor) *Tensor {
	by.Hold()
	old.Drop()
	return by
}

// handOn passes the results on to the nodes that wait for them.
func (e *engine) handOn(n *node, out []*Tensor) {
	for i := range n.next {
		ed := n.next[i]
		if ed.to == nil {
			continue
		}
		if e.only != nil && !e.only.wants(ed.to) {
			continue
		}
		ed.to.deps--
		if i < len(out) && out[i] != nil {
			out[i] = e.meet(ed.to, ed.nr, out[i])
		}
		if ed.to.deps == 0 {
			e.push(ed.to)
		}
	}
	for _, g := range out { // meet returned the gradients that it added to others
		g.Drop()
	}
}

// add stores the root's gradient and makes its node ready.
func (e *engine) add(n *node, nr int32, g *Tensor) {
	e.meet(n, nr, g.Hold())
	e.push(n)
}

// meet is InputBuffer::add: the first gradient is moved into the buffer. A later one is added to the first and
// returned to the caller, who drops it.
func (e *engine) meet(n *node, nr int32, g *Tensor) *Tensor {
	if n.in == nil {
		n.in = n.first[:0]
	}
	for int(nr) >= len(n.in) {
		n.in = append(n.in, nil)
	}
	old := n.in[nr]
	if old == nil {
		n.in[nr] = g
		return nil
	}
	e.w.Op("accumulate")
	if !e.w.OutOfPlace && old.exclusive() && isDense(old.size, old.stride) {
		e.w.Launch(old, g)
		return g
	}
	sum := old.Add(g).Hold()
	n.in[nr] = sum
	old.Drop()
	return g
}

// exclusive reports whether the only reference to t is also the only one to its memory. It is never true for a
// view: autograd keeps the view's base, even if no gradient is recorded.
func (t *Tensor) exclusive() bool {
	return t.refs == 1 && !t.isView && t.mem != nil && t.mem.refs == 1
}

// accumulateGrad is AccumulateGrad: the leaf takes ownership of the first gradient if possible, and later ones
// are added to it. It consumes the reference to g.
func (w *World) accumulateGrad(leaf, g *Tensor) {
	if g == nil {
		if w.afterNoGrad != nil {
			w.afterNoGrad(leaf)
		}
		return
	}
	w.host(HostLeaf)
	w.Op("AccumulateGrad")
	had, came := leaf.grad != nil, arrival{leaf: leaf, at: len(w.Trace.Events)}
	switch {
	case had:
		w.Launch(leaf.grad, g)
	case g.refs == 1 && layoutObeys(g, leaf):
		leaf.grad = g.alias(g.size, g.stride).Hold()
		came.taken = true
		w.joins(leaf.grad, g)
	default:
		leaf.grad = w.emptyStrided(leaf.size, leaf.stride, g.dtype).Hold()
		w.Launch(leaf.grad, g)
	}
	came.tag = leaf.grad.Retag(Gradients, leaf.name)
	g.Drop()
	if w.passage != nil {
		w.passage.arrives(came, had)
	}
	if w.afterGrad != nil {
		w.afterGrad(leaf)
	}
}

// layoutObeys reports whether g follows the gradient layout contract: a dense leaf's gradient has the leaf's strides.
func layoutObeys(g, leaf *Tensor) bool {
	if g.size != leaf.size {
		return false
	}
	if !isDense(leaf.size, leaf.stride) {
		return g.contiguous()
	}
	return sameStrides(g.size, g.stride, leaf.stride)
}

func (e *engine) push(n *node) {
	e.ready = append(e.ready, n)
	for i := len(e.ready) - 1; i > 0; {
		up := (i - 1) / 2
		if e.ready[up].seq >= e.ready[i].seq {
			break
		}
		e.ready[up], e.ready[i] = e.ready[i], e.ready[up]
		i = up
	}
}

func (e *engine) pop() *node {
	top := e.ready[0]
	last := len(e.ready) - 1
	e.ready[0] = e.ready[last]
	e.ready = e.ready[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && e.ready[c+1].seq > e.ready[c].seq {
			c++
		}
		if e.ready[i].seq >= e.ready[c].seq {
			break
		}
		e.ready[i], e.ready[c] = e.ready[c], e.ready[i]
		i = c
	}
	return top
}
