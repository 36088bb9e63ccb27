// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// NumPy arrays are treated as host tensors. Scripts use them to make random data.

func registerNumPy() {
	for name, dt := range map[string]shadow.DType{
		"numpy.random.randint": shadow.Int64, "numpy.random.rand": shadow.Float64, "numpy.random.randn": shadow.Float64,
		"numpy.random.normal": shadow.Float64, "numpy.random.random": shadow.Float64, "numpy.random.uniform": shadow.Float64,
		"numpy.zeros": shadow.Float64, "numpy.ones": shadow.Float64, "numpy.empty": shadow.Float64,
	} {
		natives[name] = func(in *interpreter, a arguments) value {
			v := arrayOf(a, dt)
			if h, ok := v.(*hostTensor); ok {
				in.measure(h.size)
			}
			return v
		}
	}
	natives["numpy.array"] = newTensor
	natives["numpy.asarray"] = newTensor
	natives["numpy.arange"] = made("arange")
	natives["torch.nn.utils.rnn.pad_sequence"] = padSequence
}

// arrayOf makes an array from its size argument or its positional arguments, or a number if there is no size.
func arrayOf(a arguments, dt shadow.DType) value {
	switch v := a.or(-1, "size", a.or(0, "shape", nil)).(type) {
	case *list:
		if d := ints(v.items); d != nil {
			return &hostTensor{size: d, dtype: dt}
		}
	case sizeValue:
		return &hostTensor{size: v, dtype: dt}
	case int:
		if _, sized := a.get(-1, "size"); sized {
			return &hostTensor{size: []int{v}, dtype: dt}
		}
	}
	if dt == shadow.Int64 {
		return newPlace()
	}
	if d := sizes(a); len(d) > 0 {
		return &hostTensor{size: d, dtype: dt}
	}
	return unknown{}
}

// padSequence implements pad_sequence(sequences, batch_first): every sequence is padded to the longest.
func padSequence(_ *interpreter, a arguments) value {
	l, ok := a.or(0, "sequences", nil).(*list)
	if !ok || len(l.items) == 0 {
		return unknown{}
	}
	longest, dt := 0, shadow.Int64
	for _, v := range l.items {
		h, ok := v.(*hostTensor)
		if !ok || len(h.size) != 1 {
			return unknown{}
		}
		longest, dt = max(longest, h.size[0]), h.dtype
	}
	size := []int{longest, len(l.items)}
	if first, ok := a.or(1, "batch_first", false).(bool); ok && first {
		size = []int{len(l.items), longest}
	}
	return &hostTensor{size: size, dtype: dt}
}
