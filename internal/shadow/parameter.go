// SPDX-License-Identifier: Apache-2.0

package shadow

// Parameters, and changes to their memory outside autograd: models are created on the meta device and filled
// later, cast in place, sharded, and copied into flat tensors.

// Parameter makes a trainable leaf and holds it. On the meta device it has no memory until it is filled.
func (w *World) Parameter(name string, size Shape, dt DType, meta bool) *Tensor {
	p := w.parameter(name, size, dt, meta).Hold()
	p.name = name
	p.SetTrained(true)
	return p
}

func (w *World) parameter(name string, size Shape, dt DType, meta bool) *Tensor {
	if !meta {
		defer w.Tagged(Parameters, name)()
		return w.Empty(size, dt)
	}
	p := w.pages.tensors.take(&tensorPages)
	p.w, p.size, p.stride, p.dtype = w, size, size.contiguous(), dt
	return p
}

// NamedTensor is a parameter and its path inside a module.
type NamedTensor struct {
	Name string  // the path
	Of   *Tensor // the parameter
}

// SetTrained makes t a trainable leaf, or freezes it.
func (t *Tensor) SetTrained(trained bool) { t.leaf, t.requiresGrad = trained, trained }

// IsLeaf reports whether t accumulates its own gradient.
func (t *Tensor) IsLeaf() bool { return t.leaf }

// Rename gives a parameter another path.
func (t *Tensor) Rename(name string) { t.name = name }

// OnHost runs body, which makes tensors in host memory until Fill copies them to the card.
func (w *World) OnHost(body func()) {
	w.onHost = true
	defer func() { w.onHost = false }()
	body()
}

// Fill allocates a tensor's memory on the card, if it is on the meta device or in host memory.
func (t *Tensor) Fill() {
	if t.mem == nil {
		t.ResizeStorage(t.Numel())
	}
}

// Here reports whether t's memory is on the card, rather than on the meta device or in host memory.
func (t *Tensor) Here() bool { return t.mem != nil || t.Numel() == 0 }

// AsParameter is nn.Parameter(t): a leaf with the same memory.
func (t *Tensor) AsParameter(trained bool) *Tensor {
	p := t.alias(t.size, t.stride)
	p.isView = false
	p.SetTrained(trained)
	return p
}

// SetData is t.data = o: t shares the memory of o and releases its own.
func (t *Tensor) SetData(o *Tensor) {
	if o.mem != nil {
		o.mem.refs++
	}
	old := t.mem
	t.mem, t.size, t.stride, t.dtype = o.mem, o.size, o.stride, o.dtype
	t.w.release(old)
}

// ToMeta frees t's memory; t stays as a tensor on the meta device.
func (t *Tensor) ToMeta() {
	t.w.release(t.mem)
	t.mem = nil
}

// ResizeStorage is storage.resize_: it allocates memory for numel elements, for this tensor and all others that
// share its storage.
func (t *Tensor) ResizeStorage(numel int) {
	defer t.w.Tagged(Parameters, t.name)()
	m := t.w.alloc(uint64(numel) * t.dtype.Bytes())
	if t.mem == nil {
		t.mem = m
	} else {
		t.mem.id = m.id
	}
}

// FreeStorage is storage.resize_(0): it frees the memory for all tensors that share it, until ResizeStorage
// allocates it again.
func (t *Tensor) FreeStorage() { t.w.Trace.Free(t.mem.id) }

// SharesStorage reports whether both tensors use the same memory.
func (t *Tensor) SharesStorage(o *Tensor) bool { return t.mem == o.mem }

// LayInto makes t a part of a flat tensor. The memory of t must already be freed.
func (t *Tensor) LayInto(flat *Tensor) { t.mem = flat.alias(t.size, t.stride).mem }

// CastInPlace is t.data = t.data.to(dtype) if t has another floating-point type. The copy exists before the old
// memory is freed.
func (t *Tensor) CastInPlace(dt DType) {
	if t.dead || !t.dtype.Floating() || t.dtype == dt {
		return
	}
	defer t.w.Tagged(Parameters, t.name)()
	t.dtype = dt
	t.CopyInPlace()
}

// CopyInPlace is t.data = t.data.clone(). The copy exists before the old memory is freed. On the meta device it
// does nothing.
func (t *Tensor) CopyInPlace() {
	if t.mem == nil {
		return
	}
	old := t.mem
	t.mem = t.w.alloc(t.Bytes())
	if t.w.Describes {
		t.w.describe(t)
	}
	t.w.release(old)
}

// Retype changes the type of t, which must be on the meta device.
func (t *Tensor) Retype(dt DType) { t.dtype = dt }

// Pack allocates quantized values for a tensor on the meta device: per values in each byte, stored in elements of
// type as.
func (t *Tensor) Pack(per int, as DType) {
	per *= int(as.Bytes())
	t.PackAs(Dims((t.Numel()+per-1)/per, 1), as)
}

// PackAs allocates quantized values for a tensor on the meta device, stored in elements of type as.
func (t *Tensor) PackAs(size Shape, as DType) {
	t.size, t.dtype = size, as
	t.stride = t.size.contiguous()
	t.mem = t.w.alloc(t.Bytes())
	if t.w.Describes {
		t.w.describe(t)
	}
}

// SetGrad gives t a gradient and consumes the reference to it.
func (t *Tensor) SetGrad(g *Tensor) { t.grad = g }

// TakeGrad removes t's gradient and returns it with its reference, or nil if there is none.
func (t *Tensor) TakeGrad() *Tensor {
	g := t.grad
	t.grad = nil
	return g
}

// LayGradInto makes t's gradient a view of a flat tensor that contains a copy of it.
func (t *Tensor) LayGradInto(flat *Tensor) {
	old := t.grad
	t.grad = flat.alias(t.size, t.stride).Hold()
	old.Drop()
}
