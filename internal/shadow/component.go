// SPDX-License-Identifier: Apache-2.0

package shadow

// Component is the purpose of an allocation.
type Component uint8

// The components shown in an estimate.
const (
	Activations    Component = iota // tensors saved for the backward pass
	Parameters                      // weights
	Gradients                       // gradients of the weights
	OptimizerState                  // state of the optimizer
	Logits                          // the model's output over the vocabulary, and the tensors of the loss
	Batch                           // the input batch
	Temporaries                     // tensors that live only within one op
	Workspace                       // workspaces of cuBLAS and cuDNN
)

var componentNames = [...]string{"activations", "parameters", "gradients", "optimizer", "logits", "batch", "temporaries", "workspace"}

// String returns the name used in answers.
func (c Component) String() string { return componentNames[c] }

// As attributes allocations to c until the returned function is called.
func (w *World) As(c Component) func() {
	was := w.component
	w.component = c
	return func() { w.component = was }
}

// Tagged is like As, but also attributes the allocations to one parameter or module, named by its path.
func (w *World) Tagged(c Component, path string) func() {
	was := w.component
	w.component, w.path = c, append(w.path, path)
	return func() { w.component, w.path = was, w.path[:len(w.path)-1] }
}

// OnQueue is torch.cuda.stream(...): it runs body on a queue and attributes its memory to one component.
func (w *World) OnQueue(queue uint16, c Component, body func()) {
	was, component := w.queue, w.component
	w.queue, w.component = queue, c
	body()
	w.queue, w.component = was, component
}

// asBackward tags the allocations of a node's backward: as logits if its forward was tagged as logits, otherwise as
// temporaries. A tensor that becomes a gradient is retagged.
func (w *World) asBackward(n *node) {
	w.component = Temporaries
	if n.logits {
		w.component = Logits
	}
	w.path = append(w.path[:0], n.path)
}

// Tag describes what an allocation is used for.
type Tag struct {
	Component Component // what the allocation is used for
	Form      uint32    // index into World.forms plus one; 0 if it is not a tensor or Describes is off
	Path      string    // the module that made it
}

// Retag changes the tag of t's memory once its use is known, and returns the old component.
func (t *Tensor) Retag(c Component, path string) (was Tag) {
	if t.mem != nil {
		was = t.w.Tags[t.mem.id]
		t.w.Tags[t.mem.id] = Tag{Component: c, Form: was.Form, Path: path}
	}
	return was
}
