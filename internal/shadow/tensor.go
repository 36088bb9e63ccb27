// SPDX-License-Identifier: Apache-2.0

package shadow

import "fmt"

// storage is the memory of one or more tensors. It is freed with the last of these tensors.
type storage struct {
	id        uint32 // ID in the trace
	refs      int32
	iteration uint8 // iteration of the loop that made it
}

// Tensor is a torch.Tensor without its values: shape, layout, element type, a storage that it may share,
// and its place in the autograd graph.
//
// refs counts its references: Python variables, modules, saved tensors, gradient buffers. A result that is not
// bound to a variable has none; as in Python, this temporary is freed at the end of the op that uses it.
type Tensor struct {
	w            *World
	mem          *storage // nil for an undefined or CPU tensor
	size         Shape
	stride       Shape
	dtype        DType
	leaf         bool // requires_grad and no history: a parameter, or a detached input of a checkpoint
	requiresGrad bool
	dead         bool
	isView       bool // shares another tensor's storage, and holds that tensor
	refs         int32
	nr           int32 // index of the output of fn
	fn           *node
	acc          *node // AccumulateGrad, for a leaf
	grad         *Tensor
	name         string // path of a parameter
}

// IsView reports whether t shares another tensor's storage.
func (t *Tensor) IsView() bool { return t.isView }

// Size returns the size of dimension i, which may count from the end.
func (t *Tensor) Size(i int) int { return t.size.d[t.size.at(i)] }

// Dim returns the number of dimensions.
func (t *Tensor) Dim() int { return t.size.n }

// Shape returns the sizes of all dimensions.
func (t *Tensor) Shape() Shape { return t.size }

// Sizes returns the sizes of all dimensions as a slice.
func (t *Tensor) Sizes() []int { return append([]int(nil), t.size.d[:t.size.n]...) }

// DType returns the element type.
func (t *Tensor) DType() DType { return t.dtype }

// Numel returns the number of elements.
func (t *Tensor) Numel() int { return t.size.Numel() }

// Bytes returns the size of the elements, which may be less than the size of the storage.
func (t *Tensor) Bytes() uint64 { return uint64(t.Numel()) * t.dtype.Bytes() }

// Grad returns the accumulated gradient of a leaf, or nil.
func (t *Tensor) Grad() *Tensor { return t.grad }

// Name returns a parameter's path in its model.
func (t *Tensor) Name() string { return t.name }

// String describes the tensor for messages.
func (t *Tensor) String() string {
	return fmt.Sprintf("%v%v", t.dtype, t.size)
}

func (t *Tensor) contiguous() bool { return isContiguous(t.size, t.stride) }

// RequiresGrad reports whether t needs a gradient: it is trained, or was computed from a trained tensor.
func (t *Tensor) RequiresGrad() bool { return t.requiresGrad }

// Dropped reports whether t has lost its last reference.
func (t *Tensor) Dropped() bool { return t.dead }

// Hold adds a reference: t lives until it is dropped as often as it was held.
func (t *Tensor) Hold() *Tensor {
	if t != nil {
		if t.dead {
			panic("shadow: " + t.String() + " used after it was dropped: bind it with Let in its frame")
		}
		t.refs++
	}
	return t
}

// Drop removes a reference, and frees the tensor if it was the last. A temporary, which has none, is freed at
// once. Dropping nil does nothing.
func (t *Tensor) Drop() {
	if t == nil {
		return
	}
	t.refs--
	if t.refs <= 0 {
		t.die()
	}
}

// loosen drops a reference but leaves the tensor alive as a temporary: this is how a function returns its
// result.
func (t *Tensor) loosen() *Tensor {
	if t != nil {
		t.refs--
	}
	return t
}

func (t *Tensor) die() {
	if t.dead {
		panic("shadow: " + t.String() + " dropped twice")
	}
	t.dead = true
	t.w.release(t.mem)
	if t.fn != nil {
		t.fn.unref()
	}
	t.grad.Drop()
}

// pin holds tensors while a C++ function runs. unpin releases the tensors pinned since mark, the last one first;
// unwinding an exception releases them too.
func (w *World) pin(ts ...*Tensor) (mark int) {
	mark = len(w.pins)
	for _, t := range ts {
		w.pins = append(w.pins, t.Hold())
	}
	return mark
}

func (w *World) unpin(mark int) {
	for len(w.pins) > mark {
		t := w.pins[len(w.pins)-1]
		w.pins = w.pins[:len(w.pins)-1]
		t.Drop()
	}
}

// dropTemporaries ends an op: the temporaries among its arguments are freed, left to right.
func dropTemporaries(args ...*Tensor) {
	for _, t := range args {
		if t != nil && t.refs == 0 && !t.dead {
			t.die()
		}
	}
}

// Empty makes a row-major temporary. It is torch.empty without being counted as an
// op.
func (w *World) Empty(size Shape, dt DType) *Tensor {
	return w.emptyStrided(size, size.contiguous(), dt)
}

func (w *World) emptyStrided(size, stride Shape, dt DType) *Tensor {
	t := w.pages.tensors.take(&tensorPages)
	t.w, t.size, t.stride, t.dtype = w, size, stride, dt
	t.mem = w.alloc(uint64(size.Numel()) * dt.Bytes())
	if w.Describes {
		w.describe(t)
	}
	w.watched(t)
	return t
}

// EmptyLike makes a temporary with t's shape, and with t's layout if that is dense.
func (t *Tensor) EmptyLike(dt DType) *Tensor {
	if isDense(t.size, t.stride) {
		return t.w.emptyStrided(t.size, t.stride, dt)
	}
	return t.w.emptyStrided(t.size, iterStrides(t.size, t), dt)
}

// alias makes another tensor with the same storage and no history.
func (t *Tensor) alias(size, stride Shape) *Tensor {
	if t.dead {
		panic("shadow: view of " + t.String() + " after it was dropped: bind it with Let in its frame")
	}
	if t.mem != nil {
		t.mem.refs++
	}
	out := t.w.pages.tensors.take(&tensorPages)
	out.w, out.mem, out.size, out.stride, out.dtype, out.isView = t.w, t.mem, size, stride, t.dtype, true
	t.w.watched(out)
	return out
}

// Detach returns a tensor with the same memory outside the autograd graph.
func (t *Tensor) Detach() *Tensor {
	out := t.alias(t.size, t.stride)
	dropTemporaries(t)
	return out
}
