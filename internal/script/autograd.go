// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

func registerAutograd() {
	natives["torch.autograd.grad"] = gradOf
	natives["torch.autograd.backward"] = backwardOf
}

// gradOf implements torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph).
func gradOf(in *interpreter, a arguments) value {
	roots, inputs := in.tensors(a.or(0, "outputs", nil)), in.tensors(a.or(1, "inputs", nil))
	if len(roots) == 0 || len(inputs) == 0 || !roots[0].RequiresGrad() {
		in.noteTensors("torch.autograd.grad", a)
		return unknown{}
	}
	if len(roots) > 1 {
		in.note("torch.autograd.grad is followed only for its first output; the run needs more memory than shown")
	}
	twice, _ := a.or(4, "create_graph", false).(bool)
	keeps, given := a.or(3, "retain_graph", nil).(bool)
	if !given {
		keeps = twice
	}
	var g *shadow.Tensor
	if gs := in.tensors(a.or(2, "grad_outputs", nil)); len(gs) > 0 {
		g = gs[0]
	}
	in.mark(Backward)
	in.result.Backwards++
	grads := in.differentiate(roots[0], inputs, g, keeps, twice)
	in.forwards()
	return grads
}

// differentiate runs the backward from root. If twice is set (create_graph), the gradients that this backward
// multiplies are kept until the next backward, which also runs through their graph.
func (in *interpreter) differentiate(root *shadow.Tensor, inputs []*shadow.Tensor, g *shadow.Tensor, keeps, twice bool) value {
	if !twice {
		return gradients(root.GradOf(inputs, g, keeps))
	}
	in.note("the gradient graph that create_graph makes, and its backward, are only approximated; the run may need a few percent more or less memory")
	in.result.Twice = true
	kept := in.World.KeepIncoming()
	out := gradients(root.GradOf(inputs, g, keeps))
	graph := kept()
	if graph.Computed() {
		in.fail("the gradients of gradients (create_graph) are not simulated for convolutions whose weights are computed, such as scaled or modulated ones; record the run: snug profile -- python3 %s", in.File.Path)
	}
	in.graphs = append(in.graphs, graph)
	return out
}

// gradients returns grads, the results of torch.autograd.grad, as a tuple.
func gradients(grads []*shadow.Tensor) value {
	out := &list{tuple: true}
	for _, t := range grads {
		if t == nil {
			out.items = append(out.items, nil)
			continue
		}
		out.items = append(out.items, t)
	}
	return out
}

// runGraphs runs the backward through gradient graphs. They come first, because they are newer than the rest of the
// graph.
func (in *interpreter) runGraphs() {
	for _, graph := range slices.Backward(in.graphs) {
		graph.Backward()
	}
}

// freeGraphs frees the gradient graphs after a backward has run through them.
func (in *interpreter) freeGraphs() {
	for _, graph := range in.graphs {
		graph.Drop()
	}
	in.graphs = nil
}

// backwardOf implements torch.autograd.backward(tensors, grad_tensors, retain_graph), one tensor after the other.
func backwardOf(in *interpreter, a arguments) value {
	grads := in.tensors(a.or(1, "grad_tensors", nil))
	for i, t := range in.tensors(a.or(0, "tensors", nil)) {
		call := arguments{names: []string{"retain_graph"}, named: []value{a.or(2, "retain_graph", nil)}}
		if i < len(grads) {
			call.names, call.named = append(call.names, "gradient"), append(call.named, grads[i])
		}
		drop(tensorBackward(in, t, call))
	}
	return nil
}
