// SPDX-License-Identifier: Apache-2.0

// Package nn has the layers that models are built from, as in torch.nn, transformers, PEFT and bitsandbytes: each
// layer's parameters and the ops of its forward pass. A Builder collects a model's parameters in PyTorch's order,
// and then modifies the model as libraries do: it ties, casts, adapts and quantizes weights.
package nn

import (
	"slices"

	"snug/internal/shadow"
)

// Builder makes a model's parameters, in the order in which its modules are
// constructed.
type Builder struct {
	W              *shadow.World // the world that the model lives in
	DType          shadow.DType  // type of new parameters
	Meta           bool          // parameters have no memory until they are sharded or quantized
	Output         string        // last path component of the layer that makes logits, one value per vocabulary entry
	WholeQuantized bool          // bitsandbytes quantizes the output layer too, if it has a bias
	Blocks         []string      // paths of the lists of blocks, which FSDP wraps one by one
	all            []*shadow.Tensor
	made           []*shadow.Tensor // parameters and buffers, in the order they were made
	layers         []any            // each *Linear, *Embedding and buffer's *Tensor, in order
	inputs         *Embedding       // the first embedding, returned by get_input_embeddings
	inputGrads     bool             // the vision tower's embeddings require a gradient too
	frozen         []string         // paths of modules that are not trained and get no adapters
	outer          *Builder         // builder of the model that contains this one
	beside         []*Builder       // builders of frozen models that are used together with this one
	prefix         string           // path of this model inside outer
	tied           []Tie
	mapped         bool             // the table of quantized scales is on the GPU
	norms          []*shadow.Tensor // the parameters of each nn.LayerNorm
}

// Tie is a module that shares a parameter of another.
type Tie struct {
	At string         // the module's path
	To *shadow.Tensor // the shared parameter
}

// Within returns a builder for a model inside this one. Its parameters belong to both; changes to the inner model
// do not affect the rest of the outer one.
func (b *Builder) Within(name string) *Builder {
	return &Builder{W: b.W, DType: b.DType, Meta: b.Meta, Output: b.Output, outer: b, prefix: b.prefix + name + "."}
}

// keep adds a parameter to the model and to the models around it.
func (b *Builder) keep(p *shadow.Tensor) {
	for ; b != nil; b = b.outer {
		b.all = append(b.all, p)
		b.made = append(b.made, p)
	}
}

// CastParameters is model.to(dtype) for the parameters only: each floating-point parameter is copied before its
// old memory is freed.
func (b *Builder) CastParameters(dt shadow.DType) {
	for _, p := range b.Parameters() {
		p.CastInPlace(dt)
	}
}

// Parameter makes a leaf that requires grad.
func (b *Builder) Parameter(name string, d ...int) *shadow.Tensor {
	return b.parameter(name, shadow.Dims(d...))
}

func (b *Builder) parameter(name string, size shadow.Shape) *shadow.Tensor {
	p := b.W.Parameter(b.prefix+name, size, b.DType, b.Meta)
	b.keep(p)
	return p
}

// Buffer makes a tensor that belongs to the model but is not trained.
func (b *Builder) Buffer(dt shadow.DType, d ...int) *shadow.Tensor {
	return b.Register(b.W.Empty(shadow.Dims(d...), dt))
}

// BufferAt is Buffer with a path, for a module that makes other modules after the buffer.
func (b *Builder) BufferAt(name string, dt shadow.DType, d ...int) *shadow.Tensor {
	t := b.Buffer(dt, d...)
	t.Rename(b.prefix + name)
	return t
}

// Register is register_buffer for a tensor that was computed.
func (b *Builder) Register(t *shadow.Tensor) *shadow.Tensor {
	t.Hold()
	t.Retag(shadow.Parameters, t.Name())
	b.made = append(b.made, t)
	b.layers = append(b.layers, t)
	return t
}

// RegisterAt is Register with a path.
func (b *Builder) RegisterAt(name string, t *shadow.Tensor) *shadow.Tensor {
	b.Register(t)
	t.Rename(b.prefix + name)
	return t
}

// Buffers returns the registered buffers that still exist, in order.
func (b *Builder) Buffers() []*shadow.Tensor {
	var out []*shadow.Tensor
	for _, m := range b.layers {
		if t, ok := m.(*shadow.Tensor); ok && !t.Dropped() {
			out = append(out, t)
		}
	}
	return out
}

// Scratch makes a tensor, such as the initial value of a buffer, and drops it at once.
func (b *Builder) Scratch(dt shadow.DType, d ...int) {
	b.W.Scratch(uint64(shadow.Dims(d...).Numel()) * dt.Bytes())
}

// Parameters returns all parameters in the order of Module.parameters(): a module's
// own before those of the modules inside it.
func (b *Builder) Parameters() []*shadow.Tensor { return moduleOrder(b.all) }

// Count returns the number of elements of all parameters, and of the trained ones.
func (b *Builder) Count() (all, trained int) {
	for _, p := range b.all {
		all += p.Numel()
		if p.RequiresGrad() {
			trained += p.Numel()
		}
	}
	return all + b.quantizedAway(), trained
}

// Trainable returns the parameters that require grad.
func (b *Builder) Trainable() []*shadow.Tensor {
	var out []*shadow.Tensor
	for _, p := range b.Parameters() {
		if p.RequiresGrad() {
			out = append(out, p)
		}
	}
	return out
}

// Tie replaces a parameter with another one and frees the old memory.
func (b *Builder) Tie(p **shadow.Tensor, to *shadow.Tensor) {
	for o := b; o != nil; o = o.outer {
		if i := slices.Index(o.all, *p); i >= 0 {
			o.all = slices.Delete(o.all, i, i+1)
		}
	}
	b.tied = append(b.tied, Tie{At: OwnerOf((*p).Name()), To: to})
	(*p).Drop()
	*p = to.Hold()
}

// Ties returns the tied modules in the order in which they were tied.
func (b *Builder) Ties() []Tie { return b.tied }

// Free drops a model's references to its parameters and buffers. Adapters and quantized weights stay.
func (b *Builder) Free() {
	if b.Adapted() || b.Meta {
		return
	}
	for _, t := range b.made {
		if !t.Dropped() {
			t.Drop()
		}
	}
	for _, tie := range b.tied {
		tie.To.Drop()
	}
}

// CopyData is p.data = F.pad(p.data, ...) with no padding, which transformers applies to the bias of a layer with
// a tied weight. The copy exists before the old memory is freed.
func (b *Builder) CopyData(p *shadow.Tensor) {
	defer b.W.As(shadow.Parameters)()
	p.CopyInPlace()
}
