// SPDX-License-Identifier: Apache-2.0

package shadow

// Frame is one call of a Python function: its local variables and their values.
//
// Python's variables decide when a tensor is freed, so a family has to declare which results are bound to one. A
// result that goes straight into the next op is a temporary and is freed there. A result bound to a variable is
// passed to Let, and lives until the function returns. Set rebinds the variable: the old value loses this
// reference after the new one exists. Using a result twice without a variable is a bug, and panics.
type Frame struct {
	w     *World
	slots []slot
	args  *Tensor // the tuple that a module's __call__ passes on
}

// slot is one Python variable. Once Set has been called, at points to the Go variable that represents it.
type slot struct {
	at  **Tensor
	val *Tensor
}

// Func enters a plain Python function, whose parameters are its first variables.
func (w *World) Func(args ...*Tensor) *Frame {
	f := w.frame()
	for _, a := range args {
		f.slots = append(f.slots, slot{val: a.Hold()})
	}
	return f
}

// frame takes a Frame from the pool. Frames are entered and left in strict LIFO order.
func (w *World) frame() *Frame {
	if w.depth == len(w.frames) {
		w.frames = append(w.frames, &Frame{w: w})
	}
	f := w.frames[w.depth]
	w.depth++
	f.slots, f.args = f.slots[:0], nil
	return f
}

// Let binds a value to a new variable until the function returns.
func (f *Frame) Let(v *Tensor) *Tensor {
	f.slots = append(f.slots, slot{val: v.Hold()})
	return v
}

// Let2 binds the two results of a call to new variables; either may be nil.
func (f *Frame) Let2(a, b *Tensor) (*Tensor, *Tensor) { return f.Let(a), f.Let(b) }

// Set binds the variable *at to another value.
func (f *Frame) Set(at **Tensor, v *Tensor) {
	v.Hold()
	old := *at
	*at = v
	for i := range f.slots {
		s := &f.slots[i]
		if s.at == at || (s.at == nil && s.val == old && old != nil) {
			s.at, s.val = at, v
			old.Drop()
			return
		}
	}
	f.slots = append(f.slots, slot{at: at, val: v})
}

// Del unbinds a variable early, as Python's del does.
func (f *Frame) Del(at **Tensor) {
	f.Set(at, nil)
}

// Return leaves the function. Its variables are released in the order in which they were first bound, and the
// result passes to the caller.
func (f *Frame) Return(v *Tensor) *Tensor {
	v.Hold()
	f.exit()
	return v.loosen()
}

// Return2 leaves a function with two results.
func (f *Frame) Return2(a, b *Tensor) (*Tensor, *Tensor) {
	a.Hold()
	b.Hold()
	f.exit()
	return a.loosen(), b.loosen()
}

// Return3 leaves a function with three results.
func (f *Frame) Return3(a, b, c *Tensor) (*Tensor, *Tensor, *Tensor) {
	c.Hold()
	a, b = f.Return2(a, b)
	return a, b, c.loosen()
}

// Returns leaves a function with any number of results.
func (f *Frame) Returns(vs ...*Tensor) []*Tensor {
	for _, v := range vs {
		v.Hold()
	}
	f.exit()
	for _, v := range vs {
		v.loosen()
	}
	return vs
}

func (f *Frame) exit() {
	f.w.depth--
	for _, s := range f.slots {
		s.val.Drop()
	}
	f.args.Drop()
}

// Set2 rebinds two variables at once, as Python's a, b = f(a, b) does.
func (f *Frame) Set2(at1 **Tensor, v1 *Tensor, at2 **Tensor, v2 *Tensor) {
	v2.Hold()
	f.Set(at1, v1)
	f.Set(at2, v2.loosen())
}
