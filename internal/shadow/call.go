// SPDX-License-Identifier: Apache-2.0

package shadow

import "strings"

// Module is an nn.Module with one input tensor and one output tensor, like most modules. Other arguments of
// forward (a mask, rotary angles) are held by the model's frame and accessed through the module.
type Module interface {
	// Forward runs the module. Locals of the Python function are held in fn.
	Forward(fn *Frame, x *Tensor) *Tensor
	At() string // the path shown to users: "model.layers.0.mlp"
}

// Module2 is a Module with two results, such as attention, which returns its output and its weights.
type Module2 interface {
	// Forward runs the module. Locals of the Python function are held in fn.
	Forward(fn *Frame, x *Tensor) (*Tensor, *Tensor)
	At() string // the path, as in Module
}

// Path implements At for a Module that embeds it.
type Path string

// At returns the module's path.
func (p Path) At() string { return string(p) }

// Within reports whether a path is the module's own path or lies inside it.
func Within(path, module string) bool {
	return path == module || strings.HasPrefix(path, module+".")
}

// Call is module(x). nn.Module.__call__ passes its arguments on as a tuple, which holds them until the call
// returns, even if forward rebinds its own variables.
func (w *World) Call(m Module, x *Tensor) *Tensor {
	if f := w.around[m.At()]; f != nil {
		return w.surround(f, x, func(x *Tensor) []*Tensor { return []*Tensor{w.call(m, x)} })[0]
	}
	return w.call(m, x)
}

func (w *World) call(m Module, x *Tensor) *Tensor {
	fn, x := w.enterModule(m.At(), x)
	out := fn.Return(m.Forward(fn, x))
	w.leaveModule(m.At(), out)
	return out
}

// Call2 is module(x) for a module with two results; either may be nil.
func (w *World) Call2(m Module2, x *Tensor) (*Tensor, *Tensor) {
	if f := w.around[m.At()]; f != nil {
		out := w.surround(f, x, func(x *Tensor) []*Tensor {
			out, more := w.call2(m, x)
			return []*Tensor{out, more}
		})
		return out[0], out[1]
	}
	return w.call2(m, x)
}

func (w *World) call2(m Module2, x *Tensor) (*Tensor, *Tensor) {
	fn, x := w.enterModule(m.At(), x)
	out, more := fn.Return2(m.Forward(fn, x))
	w.leaveModule(m.At(), out)
	return out, more
}

// enterModule begins a call. It returns the frame of the module's forward, and x after the wrapper's pre-forward
// hook.
func (w *World) enterModule(at string, x *Tensor) (*Frame, *Tensor) {
	w.host(HostCall)
	w.path = append(w.path, at)
	args := x.Hold()
	if g := w.wrapped[at]; g != nil {
		x = g.PreForward(x)
	}
	fn := w.Func(x)
	fn.args = args
	return fn, x
}

func (w *World) leaveModule(at string, out *Tensor) {
	if g := w.wrapped[at]; g != nil {
		g.PostForward(out)
	}
	w.path = w.path[:len(w.path)-1]
}

// Wrapper has the forward hooks of a wrapper around a module, such as FSDP.
type Wrapper interface {
	PreForward(x *Tensor) *Tensor // returns the module's input, in place of x
	PostForward(out *Tensor)      // called with the module's result
}

// Wrap puts a wrapper around the module at a path, replacing any earlier one.
func (w *World) Wrap(at string, g Wrapper) {
	if w.wrapped == nil {
		w.wrapped = map[string]Wrapper{}
	}
	w.wrapped[at] = g
}

// Wrapped runs body with a set of wrappers of its own, for a second model with modules at the same paths.
func (w *World) Wrapped(by map[string]Wrapper, body func()) {
	was := w.wrapped
	w.wrapped = by
	defer func() { w.wrapped = was }()
	body()
}

// OnRead makes Read call f for a parameter whose memory is not always there.
func (w *World) OnRead(p *Tensor, f func()) {
	if w.reads == nil {
		w.reads = map[*Tensor]func(){}
	}
	w.reads[p] = f
}

// Read is called before code outside of a parameter's module uses the parameter.
func (w *World) Read(p *Tensor) {
	if f := w.reads[p]; f != nil {
		f()
	}
}

// OnGrad makes the world call f whenever a leaf receives a gradient.
func (w *World) OnGrad(f func(leaf *Tensor)) { w.afterGrad = f }

// OnNoGrad calls f when backward reaches a leaf without a gradient for it, as after Unsloth's norms.
func (w *World) OnNoGrad(f func(leaf *Tensor)) { w.afterNoGrad = f }

// OnBackward makes the world call f after each complete backward pass.
func (w *World) OnBackward(f func()) { w.afterBackward = f }
