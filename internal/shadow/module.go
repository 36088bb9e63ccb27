// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

// Module is an nn.Module with one tensor in and one out, which most are. What
// else a forward takes (a mask, rotary angles) is held by the model's own frame
// and reached through the module.
type Module interface {
	Forward(fn *Frame, x *Tensor) *Tensor
	At() string // the path, for people: "model.layers.0.mlp"
}

// Module2 is a Module with two results, as attention is: its output and its
// weights.
type Module2 interface {
	Forward(fn *Frame, x *Tensor) (*Tensor, *Tensor)
	At() string
}

// Path is what a Module embeds to have At.
type Path string

// At is the module's path.
func (p Path) At() string { return string(p) }

// Call is module(x). nn.Module.__call__ hands its arguments on as a tuple, which
// holds them until the call returns, whatever forward does with its own name.
func (w *World) Call(m Module, x *Tensor) *Tensor {
	w.host(HostCall)
	w.path = append(w.path, m.At())
	args := x.hold()
	x = w.preForward(m.At(), x)
	fn := w.Func(x)
	fn.args = args
	out := fn.Return(m.Forward(fn, x))
	w.postForward(m.At(), out)
	w.path = w.path[:len(w.path)-1]
	return out
}

// Call2 is module(x) for a module with two results; either may be nil.
func (w *World) Call2(m Module2, x *Tensor) (*Tensor, *Tensor) {
	w.host(HostCall)
	w.path = append(w.path, m.At())
	args := x.hold()
	x = w.preForward(m.At(), x)
	fn := w.Func(x)
	fn.args = args
	out, more := fn.Return2(m.Forward(fn, x))
	w.postForward(m.At(), out)
	w.path = w.path[:len(w.path)-1]
	return out, more
}

// hooked is a module's forward hooks, where something is wrapped around it.
type hooked interface {
	preForward(x *Tensor) *Tensor
	postForward(out *Tensor)
}

func (w *World) preForward(at string, x *Tensor) *Tensor {
	if g := w.wrapped[at]; g != nil {
		return g.preForward(x)
	}
	return x
}

func (w *World) postForward(at string, out *Tensor) {
	if g := w.wrapped[at]; g != nil {
		g.postForward(out)
	}
}

// Builder makes a model's parameters, in the order in which its modules are
// constructed.
type Builder struct {
	W      *World
	DType  DType
	Meta   bool     // parameters have no memory until they are sharded or quantized
	Output string   // last name of the layer that makes logits: one value for each word of the vocabulary
	Blocks []string // paths of the lists of blocks, which FSDP wraps one by one
	all    []*Tensor
	made   []*Tensor  // parameters and buffers, in the order of their making
	layers []any      // each *Linear, *Embedding and buffer's *Tensor, in order
	inputs *Embedding // the first one: what get_input_embeddings returns
	outer  *Builder   // of the model that this one stands in
	prefix string     // its path there
	tied   []tie
	mapped bool // what quantized scales mean is on the GPU
}

// tie is a module that uses a parameter of another as its own.
type tie struct {
	at string
	to *Tensor
}

// Within is the builder of a model inside this one: what it makes belongs to
// both, and what is done to the inner model leaves the rest of the outer alone.
func (b *Builder) Within(name string) *Builder {
	return &Builder{W: b.W, DType: b.DType, Meta: b.Meta, Output: b.Output, outer: b, prefix: b.prefix + name + "."}
}

// keep lists a parameter with the model and those around it.
func (b *Builder) keep(p *Tensor) {
	for ; b != nil; b = b.outer {
		b.all = append(b.all, p)
		b.made = append(b.made, p)
	}
}

// Cast is model.to(dtype): each floating parameter is copied before its old
// memory goes.
func (b *Builder) Cast(dt DType) {
	for _, p := range b.Parameters() {
		p.castInPlace(dt)
	}
}

// Parameter makes a leaf that requires grad.
func (b *Builder) Parameter(name string, d ...int) *Tensor {
	w := b.W
	name = b.prefix + name
	was, path := w.component, w.path
	w.component, w.path = Parameters, []string{name}
	p := b.unfilled(Dims(d...)).hold()
	w.component, w.path = was, path
	p.name, p.leaf, p.needs = name, true, true
	b.keep(p)
	return p
}

// unfilled is a parameter's tensor, on the GPU or on the meta device.
func (b *Builder) unfilled(size Shape) *Tensor {
	if !b.Meta {
		return b.W.empty(size, b.DType)
	}
	p := b.W.pages.tensors.take(&tensorPages)
	p.w, p.size, p.stride, p.dtype = b.W, size, size.contiguous(), b.DType
	return p
}

// fill gives a parameter that was on the meta device its memory.
func (t *Tensor) fill() {
	if t.mem == nil {
		t.refill(t.Numel())
	}
}

// Buffer makes a tensor that belongs to the model but is not trained.
func (b *Builder) Buffer(dt DType, d ...int) *Tensor {
	return b.Register(b.W.empty(Dims(d...), dt))
}

// Register is register_buffer for a tensor that was computed.
func (b *Builder) Register(t *Tensor) *Tensor {
	t.hold()
	if t.mem != nil {
		b.W.Tags[t.mem.id] = Tag{Component: Parameters, Path: t.name}
	}
	b.made = append(b.made, t)
	b.layers = append(b.layers, t)
	return t
}

// Buffers is the registered ones that are still there, in order.
func (b *Builder) Buffers() []*Tensor {
	var out []*Tensor
	for _, m := range b.layers {
		if t, ok := m.(*Tensor); ok && !t.dead {
			out = append(out, t)
		}
	}
	return out
}

// Scratch makes a tensor that is gone at once, such as one that a buffer is
// initialised from.
func (b *Builder) Scratch(dt DType, d ...int) {
	b.W.scratch(uint64(Dims(d...).Numel()) * dt.Bytes())
}

// Parameters is all of them, in the order of Module.parameters(): a module's
// own before those of the modules inside it.
func (b *Builder) Parameters() []*Tensor { return moduleOrder(b.all) }

// Count is the number of elements of all parameters, and of those that are
// trained.
func (b *Builder) Count() (all, trained int) {
	for _, p := range b.all {
		all += p.Numel()
		if p.needs {
			trained += p.Numel()
		}
	}
	return all + b.quantizedAway(), trained
}

// Trainable is those that require grad.
func (b *Builder) Trainable() []*Tensor {
	var out []*Tensor
	for _, p := range b.Parameters() {
		if p.needs {
			out = append(out, p)
		}
	}
	return out
}

// Tie replaces a parameter that was made with another: its memory goes back.
func (b *Builder) Tie(p **Tensor, to *Tensor) {
	for o := b; o != nil; o = o.outer {
		if i := slices.Index(o.all, *p); i >= 0 {
			o.all = slices.Delete(o.all, i, i+1)
		}
	}
	b.tied = append(b.tied, tie{at: ownerOf((*p).name), to: to})
	(*p).drop()
	*p = to.hold()
}

// CopyData is p.data = F.pad(p.data, ...) by nothing: what transformers does to
// the bias of a layer whose weight it ties. The copy exists before the old goes.
func (b *Builder) CopyData(p *Tensor) {
	old, was := p.mem, b.W.component
	if old == nil { // not loaded yet
		return
	}
	b.W.component = Parameters
	p.mem = b.W.alloc(p.Bytes())
	b.W.component = was
	b.W.release2(old)
}

// Linear is nn.Linear, or one with LoRA around it.
type Linear struct {
	Path
	Weight, Bias *Tensor
	In, Out      int
	flipped      bool        // its weight lies the other way round
	quant        *quantState // of a weight that is quantized
	lora         *adapter
	output       bool // it makes logits
}

// Linear makes an nn.Linear.
func (b *Builder) Linear(at string, in, out int, bias bool) *Linear {
	l := &Linear{Path: Path(at), In: in, Out: out, output: b.makesLogits(at)}
	l.Weight = b.Parameter(at+".weight", out, in)
	if bias {
		l.Bias = b.Parameter(at+".bias", out)
	}
	b.layers = append(b.layers, l)
	return l
}

// makesLogits tells whether the layer at a path is the one that makes logits.
func (b *Builder) makesLogits(at string) bool { return b.Output != "" && lastName(at) == b.Output }

// SharedLinear makes an nn.Linear without a bias whose weight was another module's
// before the model came to the GPU.
func (b *Builder) SharedLinear(at string, weight *Tensor) *Linear {
	l := &Linear{Path: Path(at), Weight: weight.hold(), In: weight.Size(1), Out: weight.Size(0), output: b.makesLogits(at)}
	b.tied = append(b.tied, tie{at: at, to: weight})
	b.layers = append(b.layers, l)
	return l
}

// Call is linear(x).
func (l *Linear) Call(x *Tensor) *Tensor { return x.w.Call(l, x) }

// Forward is what nn.Linear does.
func (l *Linear) Forward(fn *Frame, x *Tensor) *Tensor {
	if l.output {
		defer x.w.As(Logits)()
	}
	switch {
	case l.quant != nil && l.lora != nil:
		inner := x.w.Func(x)
		return l.lora.forward4bit(fn, x, inner.Return(l.forward4bit(inner, x)))
	case l.quant != nil:
		return l.forward4bit(fn, x)
	case l.lora == nil:
		return x.Linear(l.Weight, l.Bias)
	}
	return l.lora.forward(fn, x, x.Linear(l.Weight, l.Bias))
}

// Embedding is nn.Embedding.
type Embedding struct {
	Path
	Weight *Tensor
	Scale  *Tensor // multiplies the rows, where it is set (Gemma)
	grads  bool    // its output is made to require a gradient
}

// Embedding makes an nn.Embedding.
func (b *Builder) Embedding(at string, rows, width int) *Embedding {
	e := &Embedding{Path: Path(at), Weight: b.Parameter(at+".weight", rows, width)}
	if b.inputs == nil {
		b.inputs = e
	}
	b.layers = append(b.layers, e)
	return e
}

// Call is embedding(ids).
func (e *Embedding) Call(ids *Tensor) *Tensor { return ids.w.Call(e, ids) }

// Forward is what nn.Embedding does.
func (e *Embedding) Forward(fn *Frame, ids *Tensor) *Tensor {
	out := ids.Embedding(e.Weight)
	if e.Scale != nil {
		out = out.Mul(e.Scale)
	}
	if e.grads && !out.needs && out.w.gradMode {
		out.leaf, out.needs = true, true
	}
	return out
}

// LayerNorm is nn.LayerNorm over the last dimension.
type LayerNorm struct {
	Path
	Weight, Bias *Tensor
}

// LayerNorm makes an nn.LayerNorm with a bias or without.
func (b *Builder) LayerNorm(at string, width int, bias bool) *LayerNorm {
	l := &LayerNorm{Path: Path(at), Weight: b.Parameter(at+".weight", width)}
	if bias {
		l.Bias = b.Parameter(at+".bias", width)
	}
	return l
}

// Call is norm(x).
func (l *LayerNorm) Call(x *Tensor) *Tensor { return x.w.Call(l, x) }

// Forward is what nn.LayerNorm does.
func (l *LayerNorm) Forward(fn *Frame, x *Tensor) *Tensor { return x.LayerNorm(l.Weight, l.Bias) }

// Dropout is nn.Dropout while training.
type Dropout float64

// Call is dropout(x).
func (p Dropout) Call(x *Tensor) *Tensor { return x.Dropout(float64(p)) }
