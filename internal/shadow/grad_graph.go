// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

// The gradient graph that create_graph=True makes. It is not recorded op by op: the tensors that its nodes save
// are kept while the first backward runs, and the second backward visits the same nodes in reverse. That is
// enough for the peak: the saved gradients are released one by one while the gradients of the weights and of the
// first forward's tensors appear.

// GradGraph is the graph of the gradients that one backward computed.
type GradGraph struct {
	w        *World
	nodes    []gradNode
	computed bool
}

// Computed reports whether the graph contains a convolution whose weight is the result of other ops, such as one that
// is scaled in each forward. The graph of its gradients is larger than what is kept here.
func (graph *GradGraph) Computed() bool { return graph.computed }

// gradNode is the backward of one node, recorded as an op of the graph.
type gradNode struct {
	of     *node
	kept   *Tensor   // the gradient it saved
	leaves []*Tensor // weights whose gradients it adds to
	inputs []edge    // the node's inputs whose gradients it adds to
}

// KeepIncoming begins a gradient graph and returns the function that ends it.
func (w *World) KeepIncoming() func() *GradGraph {
	outer := w.gradGraph
	w.gradGraph = &GradGraph{w: w}
	return func() *GradGraph {
		out := w.gradGraph
		w.gradGraph = outer
		return out
	}
}

// keepIncoming keeps the gradients that arrive at a node if the gradient graph saves them, which it does if they
// are multiplied by tensors that the node saved. For a dropout it saves the scaled mask, in the gradient's type
// (infinitely_differentiable_native_dropout_backward).
func (w *World) keepIncoming(n *node, in []*Tensor) {
	graph := w.gradGraph
	if graph == nil || len(n.saved) == 0 {
		return
	}
	for _, g := range in {
		switch {
		case g == nil:
		case n.name == "NativeDropoutBackward0":
			converted := w.Empty(g.size, g.dtype).Hold()
			graph.add(n, w.Empty(g.size, g.dtype).Hold())
			converted.Drop()
		default:
			graph.add(n, g.Hold())
		}
	}
}

// add adds the backward of node n to the graph. The backward depends on the node's inputs, with two exceptions: if n
// multiplies by a weight, the backward depends on the other factor only if the weight's gradient was computed; and it
// never depends on a bias.
func (graph *GradGraph) add(n *node, kept *Tensor) {
	step := gradNode{of: n, kept: kept}
	graph.computed = graph.computed || n.name == "ConvolutionBackward0" && n.next[1].computed()
	product := slices.ContainsFunc(n.next, func(e edge) bool { return e.matrix() != nil })
	for _, e := range n.next {
		switch leaf := e.matrix(); {
		case e.to == nil || n.name == "NativeDropoutBackward0":
		case leaf != nil:
			step.leaves = append(step.leaves, leaf.Hold())
		case e.to.leaf == nil && (!product || n.computesLeaf()):
			step.inputs = append(step.inputs, e)
		}
	}
	graph.nodes = append(graph.nodes, step)
}

// matrix returns the weight that an edge leads to, directly or transposed, or nil.
func (e edge) matrix() *Tensor {
	to := e.to
	if to != nil && to.name == "TBackward0" && len(to.next) == 1 {
		to = to.next[0].to
	}
	if to == nil || to.leaf == nil || to.leaf.size.n != 2 {
		return nil
	}
	return to.leaf
}

// computed reports whether an edge leads to a result of other ops than autocast's casts.
func (e edge) computed() bool {
	to := e.to
	for to != nil && to.name == "ToCopyBackward0" {
		to = to.next[0].to
	}
	return to != nil && to.leaf == nil
}

// computesLeaf reports whether the current backward computes the gradient of the node's weight.
func (n *node) computesLeaf() bool {
	return slices.ContainsFunc(n.next, func(e edge) bool { return e.matrix() != nil && (n.w.only == nil || n.w.only.wants(e.to)) })
}

// Backward runs the backward through the graph, newest node first. Gradients of the forward's tensors wait at
// their nodes until the backward reaches them.
func (graph *GradGraph) Backward() {
	w := graph.w
	var passing *Tensor // the gradient being passed on
	for _, n := range slices.Backward(graph.nodes) {
		next := w.Empty(n.kept.size, n.kept.dtype).Hold()
		n.temporaries(w)
		passing.Drop()
		passing = next
		for _, leaf := range n.leaves {
			w.addGrad(leaf)
			leaf.Drop()
		}
		for _, e := range n.inputs {
			w.waitingGrad(n.of, e)
		}
		n.kept.Drop()
	}
	passing.Drop()
	graph.nodes = nil
}

// temporaries allocates what the second backward of an op needs besides its results: layer_norm_double_backward
// (FunctionsManual.cpp, 2.11) keeps eight tensors of the input's size at once, softmax's keeps three.
func (n gradNode) temporaries(w *World) {
	count := map[string]int{"NativeLayerNormBackward0": 8, "SoftmaxBackward0": 3, "GeluBackward0": 1}[n.of.name]
	var all []*Tensor
	for range count {
		all = append(all, w.Empty(n.kept.size, n.kept.dtype).Hold())
	}
	for _, t := range all {
		t.Drop()
	}
}

// addGrad makes the gradient of a leaf, or adds to it.
func (w *World) addGrad(leaf *Tensor) {
	if leaf.grad == nil {
		leaf.grad = w.Empty(leaf.size, leaf.dtype).Hold()
		return
	}
	w.Scratch(leaf.Bytes())
}

// waitingGrad makes the gradient of a node's input, which is kept until the node runs.
func (w *World) waitingGrad(n *node, e edge) {
	if w.waiting == nil {
		w.waiting = map[*node][]*Tensor{}
	}
	w.waiting[n] = append(w.waiting[n], w.Empty(e.size, e.dtype).Hold())
}

// takeWaiting frees the gradients that waited for a node.
func (w *World) takeWaiting(n *node) {
	for _, t := range w.waiting[n] {
		t.Drop()
	}
	delete(w.waiting, n)
}

// Drop frees a graph, and the gradients that still wait.
func (graph *GradGraph) Drop() {
	for _, n := range graph.nodes {
		n.kept.Drop()
		for _, leaf := range n.leaves {
			leaf.Drop()
		}
	}
	graph.nodes = nil
	for n := range graph.w.waiting {
		graph.w.takeWaiting(n)
	}
}
