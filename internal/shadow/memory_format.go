// SPDX-License-Identifier: Apache-2.0

package shadow

// Memory formats of images: torch.channels_last.

// ContiguousLast is t.contiguous(memory_format=torch.channels_last): t itself if its elements already lie in that order.
func (t *Tensor) ContiguousLast() *Tensor {
	if t.size.n != 4 {
		return t
	}
	want := layout(t.size, true)
	for i := range t.size.n {
		if t.size.d[i] != 1 && t.stride.d[i] != want.d[i] {
			return t.clone(want)
		}
	}
	return t
}

// ToLast is t.to(memory_format=torch.channels_last): t itself if its strides are those of the format. Unlike ContiguousLast it
// copies a tensor of a single pixel, whose strides do not show the format.
func (t *Tensor) ToLast() *Tensor {
	if t.size.n != 4 || t.channelsLast() {
		return t
	}
	return t.clone(layout(t.size, true))
}

// ToLastInPlace is t.data = t.data.to(memory_format=torch.channels_last). The copy exists before the old memory is freed.
func (t *Tensor) ToLastInPlace() {
	if t.dead || t.size.n != 4 || t.channelsLast() {
		return
	}
	defer t.w.Tagged(Parameters, t.name)()
	t.stride = layout(t.size, true)
	t.CopyInPlace()
}

// MadeLast sets the strides of a new tensor that is made in torch.channels_last.
func (t *Tensor) MadeLast() *Tensor {
	if t.size.n == 4 {
		t.stride = layout(t.size, true)
	}
	return t
}

// InputLast is Input for images that are channels last on the card. Unless they are in host memory too, they are first
// copied as they are (copy_impl in native/Copy.cpp).
func (w *World) InputLast(dt DType, hostLast bool, d ...int) *Tensor {
	size := Dims(d...)
	if size.n != 4 {
		return w.Input(dt, d...)
	}
	defer w.As(Batch)()
	out := w.emptyStrided(size, layout(size, true), dt).Hold()
	if !hostLast && !out.contiguous() {
		w.Scratch(out.Bytes())
	}
	return out
}

// LayLast is t.data = t.data.to(device, memory_format=torch.channels_last) for a parameter, as Module.to does for weights with
// four dimensions.
func (t *Tensor) LayLast(toCard bool) {
	want := layout(t.size, t.size.n == 4)
	if t.size.n != 4 || t.channelsLast() {
		if toCard {
			t.Fill()
		}
		return
	}
	fromHost := t.mem == nil
	t.stride = want
	switch {
	case !fromHost:
		t.CopyInPlace()
	case toCard:
		t.Fill()
		t.w.Scratch(t.Bytes())
	}
}
