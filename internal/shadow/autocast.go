// SPDX-License-Identifier: Apache-2.0

package shadow

// castCache is autocast's cache: one 16-bit copy of each float32 leaf that requires grad, made at its first use
// and kept until the outermost autocast ends. The ops implement autocast's policy: those that call autocasted run
// in 16 bits, those that call inFloat32 or toFloat32 in float32.
type castCache struct {
	of    map[*Tensor]*Tensor
	order []*Tensor
	off   bool // cache_enabled=False, or inference mode
}

// withAutocast runs body under torch.autocast. With None it changes nothing.
func (w *World) withAutocast(dt DType, body func()) {
	outer := w.autocast
	w.autocast = dt
	defer func() {
		w.autocast = outer
		if outer == None {
			w.clearCasts()
		}
	}()
	body()
}

// Autocast runs body under torch.autocast with the given type.
func (w *World) Autocast(dt DType, body func()) { w.withAutocast(dt, body) }

// AutocastUncached is Autocast with cache_enabled=False: a weight is cast at each use.
func (w *World) AutocastUncached(dt DType, body func()) {
	was := w.casts.off
	w.withAutocast(dt, func() {
		w.casts.off = true
		body()
		w.casts.off = was
	})
}

// Inference runs body under torch.inference_mode(), where autocast neither fills nor reads its weight cache.
func (w *World) Inference(body func()) {
	was := w.casts.off
	w.casts.off = true
	defer func() { w.casts.off = was }()
	body()
}

// AutocastType returns the type that torch.autocast casts to, or None outside autocast.
func (w *World) AutocastType() DType { return w.autocast }

func (w *World) clearCasts() {
	order := w.casts.order
	w.casts = castCache{off: w.casts.off}
	for _, t := range order {
		t.Drop()
	}
}

// toAutocastType casts an argument of a matrix product, convolution or attention the way autocast does: a float
// tensor becomes the 16-bit type. The result is t itself, a cached copy, or a temporary.
func (w *World) toAutocastType(t *Tensor) *Tensor {
	if t == nil || w.autocast == None || !t.dtype.Floating() || t.dtype == w.autocast || t.dtype == Float64 {
		return t
	}
	if w.casts.off || !t.leaf || t.dtype != Float32 || !t.requiresGrad {
		return t.cast(w.autocast)
	}
	if c := w.casts.of[t]; c != nil {
		return c
	}
	c := t.cast(w.autocast).Hold()
	if w.casts.of == nil {
		w.casts.of = map[*Tensor]*Tensor{}
	}
	w.casts.of[t] = c
	w.casts.order = append(w.casts.order, c)
	return c
}

// toFloat32 casts an argument of an op that autocast runs in float32.
func (w *World) toFloat32(t *Tensor) *Tensor {
	if t == nil || w.autocast == None || !t.dtype.Half() {
		return t
	}
	return t.cast(Float32)
}

// autocasted runs an op on its arguments after autocast's casts. C++ evaluates the casts from the last argument
// to the first and drops them in reverse; arguments passed from Python are held until the op returns.
func (w *World) autocasted(args []*Tensor, run func(a []*Tensor) *Tensor) *Tensor {
	var space [4]*Tensor
	cast := append(space[:0], args...)
	mark := w.pin(args...)
	for i := len(args) - 1; i >= 0; i-- {
		cast[i] = w.toAutocastType(args[i])
		w.pin(cast[i])
	}
	out := run(cast)
	w.unpin(mark)
	return out
}

// Autocasted runs a function of PyTorch that autocast runs in 16 bits and that consists of other ops, to which autocast
// does not apply then.
func (w *World) Autocasted(args []*Tensor, run func(a []*Tensor) *Tensor) *Tensor {
	return w.autocasted(args, func(a []*Tensor) (out *Tensor) {
		w.withAutocast(None, func() { out = run(a) })
		return out
	})
}
