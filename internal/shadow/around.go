// SPDX-License-Identifier: Apache-2.0

package shadow

// Around is called in place of a module. It runs the module's forward, directly or in a checkpoint, plus any code
// that a script wraps around it. others are the call's remaining arguments. It returns as many results as forward
// does, each with a reference for the caller; the results of forward carry no reference.
type Around func(x *Tensor, others []*Tensor, forward func(x *Tensor) []*Tensor) []*Tensor

// Surround runs body, calling the functions in around in place of the modules at their paths.
func (w *World) Surround(around map[string]Around, body func()) {
	outer := w.around
	w.around = around
	defer func() { w.around = outer }()
	body()
}

// CallWith is module(x, others…).
func (w *World) CallWith(m Module, x *Tensor, others []*Tensor) *Tensor {
	if w.around[m.At()] != nil {
		w.others = others
	}
	return w.Call(m, x)
}

func (w *World) surround(f Around, x *Tensor, forward func(x *Tensor) []*Tensor) []*Tensor {
	others := w.others
	w.others = nil
	x.Hold()       // the argument tuple holds x
	defer x.Drop() // deferred, because a checkpoint may end the call early
	out := f(x, others, forward)
	for _, t := range out {
		t.loosen()
	}
	return out
}
