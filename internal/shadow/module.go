// SPDX-License-Identifier: Apache-2.0

package shadow

import "slices"

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
	tied   []Tie
	mapped bool // what quantized scales mean is on the GPU
}

// Tie is a module that uses a parameter of another as its own.
type Tie struct {
	At string // the module's path
	To *Tensor
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
		p.CastInPlace(dt)
	}
}

// Parameter makes a leaf that requires grad.
func (b *Builder) Parameter(name string, d ...int) *Tensor {
	return b.parameter(name, Dims(d...))
}

func (b *Builder) parameter(name string, size Shape) *Tensor {
	p := b.W.Parameter(b.prefix+name, size, b.DType, b.Meta)
	b.keep(p)
	return p
}

// Buffer makes a tensor that belongs to the model but is not trained.
func (b *Builder) Buffer(dt DType, d ...int) *Tensor {
	return b.Register(b.W.Empty(Dims(d...), dt))
}

// Register is register_buffer for a tensor that was computed.
func (b *Builder) Register(t *Tensor) *Tensor {
	t.Hold()
	t.Retag(Parameters, t.Name())
	b.made = append(b.made, t)
	b.layers = append(b.layers, t)
	return t
}

// Buffers is the registered ones that are still there, in order.
func (b *Builder) Buffers() []*Tensor {
	var out []*Tensor
	for _, m := range b.layers {
		if t, ok := m.(*Tensor); ok && !t.Dropped() {
			out = append(out, t)
		}
	}
	return out
}

// Scratch makes a tensor that is gone at once, such as one that a buffer is
// initialised from.
func (b *Builder) Scratch(dt DType, d ...int) {
	b.W.Scratch(uint64(Dims(d...).Numel()) * dt.Bytes())
}

// Parameters is all of them, in the order of Module.parameters(): a module's
// own before those of the modules inside it.
func (b *Builder) Parameters() []*Tensor { return moduleOrder(b.all) }

// Count is the number of elements of all parameters, and of those that are
// trained.
func (b *Builder) Count() (all, trained int) {
	for _, p := range b.all {
		all += p.Numel()
		if p.RequiresGrad() {
			trained += p.Numel()
		}
	}
	return all + b.quantizedAway(), trained
}

// Trainable is those that require grad.
func (b *Builder) Trainable() []*Tensor {
	var out []*Tensor
	for _, p := range b.Parameters() {
		if p.RequiresGrad() {
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
	b.tied = append(b.tied, Tie{At: OwnerOf((*p).Name()), To: to})
	(*p).Drop()
	*p = to.Hold()
}

// Ties is the modules that were tied to a parameter, in that order.
func (b *Builder) Ties() []Tie { return b.tied }

// CopyData is p.data = F.pad(p.data, ...) by nothing: what transformers does to
// the bias of a layer whose weight it ties. The copy exists before the old goes.
func (b *Builder) CopyData(p *Tensor) {
	defer b.W.As(Parameters)()
	p.CopyInPlace()
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
	l := &Linear{Path: Path(at), Weight: weight.Hold(), In: weight.Size(1), Out: weight.Size(0), output: b.makesLogits(at)}
	b.tied = append(b.tied, Tie{At: at, To: weight})
	b.layers = append(b.layers, l)
	return l
}

// Call is linear(x).
func (l *Linear) Call(x *Tensor) *Tensor { return x.World().Call(l, x) }

// Forward is what nn.Linear does.
func (l *Linear) Forward(fn *Frame, x *Tensor) *Tensor {
	if l.output {
		defer x.World().As(Logits)()
	}
	switch {
	case l.quant != nil && l.lora != nil:
		inner := x.World().Func(x)
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
func (e *Embedding) Call(ids *Tensor) *Tensor { return ids.World().Call(e, ids) }

// Forward is what nn.Embedding does.
func (e *Embedding) Forward(fn *Frame, ids *Tensor) *Tensor {
	out := ids.Embedding(e.Weight)
	if e.Scale != nil {
		out = out.Mul(e.Scale)
	}
	if e.grads && !out.RequiresGrad() && out.World().GradEnabled() {
		out.SetTrained(true)
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
func (l *LayerNorm) Call(x *Tensor) *Tensor { return x.World().Call(l, x) }

// Forward is what nn.LayerNorm does.
func (l *LayerNorm) Forward(fn *Frame, x *Tensor) *Tensor { return x.LayerNorm(l.Weight, l.Bias) }

// Dropout is nn.Dropout while training.
type Dropout float64

// Call is dropout(x).
func (p Dropout) Call(x *Tensor) *Tensor { return x.Dropout(float64(p)) }
