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
