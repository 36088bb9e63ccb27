// SPDX-License-Identifier: Apache-2.0

package shadow

// Component says what memory is for.
type Component uint8

// The components that an estimate shows.
const (
	Activations Component = iota
	Parameters
	Gradients
	OptimizerState
	Logits
	Batch
	Temporaries
	Workspace
)

var componentNames = [...]string{"activations", "parameters", "gradients", "optimizer", "logits", "batch", "temporaries", "workspace"}

func (c Component) String() string { return componentNames[c] }

// As counts what is allocated from here on as c, until the function that it
// returns is called.
func (w *World) As(c Component) func() {
	was := w.component
	w.component = c
	return func() { w.component = was }
}

// asBackward counts what a node's backward allocates: logits for what was
// recorded as such, else temporaries. What becomes a gradient is tagged anew.
func (w *World) asBackward(n *node) {
	w.component = Temporaries
	if n.logits {
		w.component = Logits
	}
	w.path = append(w.path[:0], n.path)
}

// Tag is what is known about an allocation beside its size.
type Tag struct {
	Component Component
	Path      string
}

func (w *World) tagGradient(leaf *Tensor) (was Tag) {
	if m := leaf.grad.mem; m != nil {
		was = w.Tags[m.id]
		w.Tags[m.id] = Tag{Component: Gradients, Path: leaf.name}
	}
	return was
}
