// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"

	"snug/internal/shadow"
)

// NumPy arrays are treated as host tensors. Scripts use them to make random data.

func registerNumPy() {
	for name, f := range map[string]arrayMaker{
		"random.randint": {2, shadow.Int64}, "random.integers": {2, shadow.Int64}, "random.rand": {-1, shadow.Float64}, "random.randn": {-1, shadow.Float64},
		"random.normal": {2, shadow.Float64}, "random.uniform": {2, shadow.Float64}, "random.beta": {2, shadow.Float64}, "random.binomial": {2, shadow.Int64},
		"random.random": {0, shadow.Float64}, "random.random_sample": {0, shadow.Float64}, "random.standard_normal": {0, shadow.Float64},
		"random.poisson": {1, shadow.Int64}, "random.exponential": {1, shadow.Float64},
		"zeros": {0, shadow.Float64}, "ones": {0, shadow.Float64}, "empty": {0, shadow.Float64}, "full": {0, shadow.Float64},
	} {
		natives["numpy."+name] = f.make
	}
	for _, name := range []string{"array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "copy", "require"} {
		natives["numpy."+name] = newTensor
	}
	natives["numpy.arange"] = arrayRange
	natives["numpy.linspace"] = linspace(shadow.Float64)
	natives["numpy.stack"] = alongAxis(stackedOf)
	natives["numpy.concatenate"] = alongAxis(concatenated(shadow.Cat))
	natives["numpy.random.choice"] = randomChoice
	natives["numpy.random.permutation"] = permuted
	for _, name := range []string{"default_rng", "RandomState"} { // a generator has the functions of the module
		natives["numpy.random."+name] = func(*interpreter, arguments) value { return namespace("numpy.random") }
	}
	for name, dt := range map[string]shadow.DType{
		"float32": shadow.Float32, "float64": shadow.Float64, "float16": shadow.Float16, "int64": shadow.Int64, "int32": shadow.Int32, "uint8": shadow.UInt8, "bool_": shadow.Bool,
		"int8": shadow.Int8, "int16": shadow.Int16, "uint16": shadow.UInt16, "uint32": shadow.Int32, "uint64": shadow.Int64, // the last two by size
		"half": shadow.Float16, "single": shadow.Float32, "double": shadow.Float64, "intp": shadow.Int64, "int_": shadow.Int64, "longlong": shadow.Int64,
		"byte": shadow.Int8, "ubyte": shadow.UInt8, "short": shadow.Int16, "ushort": shadow.UInt16, "intc": shadow.Int32,
	} {
		constants["numpy."+name] = dtypeValue(dt)
	}
	natives["scipy.optimize.linear_sum_assignment"] = assignment
	natives["torch.nn.utils.rnn.pad_sequence"] = padSequence
}

// assignment implements scipy's linear_sum_assignment(costs): a row and a column for each pair, as many as the shorter side has.
func assignment(_ *interpreter, a arguments) value {
	costs, ok := a.or(0, "cost_matrix", nil).(*hostTensor)
	if !ok || len(costs.size) != 2 {
		return unknown{}
	}
	n := min(costs.size[0], costs.size[1])
	return tupleOf(&hostTensor{size: []int{n}, dtype: shadow.Int64}, &hostTensor{size: []int{n}, dtype: shadow.Int64})
}

// arrayMaker describes a function that makes an array: where its argument size is, -1 if each argument is one, and the
// type of its elements.
type arrayMaker struct {
	size  int
	dtype shadow.DType
}

// make returns the array, or a number if there is no size.
func (m arrayMaker) make(in *interpreter, a arguments) value {
	size := a.or(m.size, "size", a.or(-1, "shape", nil))
	if m.size < 0 {
		size = &list{items: a.pos}
	}
	d := numbersOf(size)
	if n, ok := size.(int); ok {
		d = []int{n}
	}
	switch {
	case len(d) > 0:
		h := &hostTensor{size: d, dtype: m.dtype}
		if least, most, ok := randomBounds(a, "low", "high"); ok && m.size == 2 && m.dtype == shadow.Int64 && most > least {
			h.least, h.most = least, most-1
		}
		if dt, ok := typeNamed(a.or(m.typeAt(), "dtype", nil)); ok {
			h.dtype = dt
		}
		in.measure(h.size)
		return h
	case m.dtype == shadow.Int64:
		if least, most, ok := randomBounds(a, "low", "high"); ok && m.size == 2 && most > least {
			return placeIn(least, most-1)
		}
		return newPlace()
	}
	return unknown{}
}

// typeAt returns the position of the argument dtype of functions such as zeros, whose first argument is the size.
func (m arrayMaker) typeAt() int {
	if m.size == 0 {
		return 1
	}
	return -1
}

// typeNamed returns the type that NumPy's dtype arguments name.
func typeNamed(v value) (shadow.DType, bool) {
	switch v := v.(type) {
	case dtypeValue:
		return shadow.DType(v), true
	case string:
		dt, ok := constants["torch."+v].(dtypeValue)
		return shadow.DType(dt), ok
	case namespace:
		dt, ok := map[namespace]shadow.DType{"builtins.int": shadow.Int64, "builtins.float": shadow.Float64, "builtins.bool": shadow.Bool}[v]
		return dt, ok
	}
	return shadow.None, false
}

// linspace implements linspace(start, end, steps).
func linspace(dt shadow.DType) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		n, ok := a.or(2, "steps", a.or(-1, "num", 50)).(int)
		if !ok {
			return unknown{}
		}
		return in.placedOn(&hostTensor{size: []int{n}, dtype: dt}, a)
	}
}

// alongAxis calls a function of torch with NumPy's arguments.
func alongAxis(f func(*interpreter, arguments) value) func(*interpreter, arguments) value {
	return func(in *interpreter, a arguments) value {
		return f(in, arguments{pos: []value{a.or(0, "arrays", nil), a.or(1, "axis", 0)}})
	}
}

// randomChoice implements numpy.random.choice(a, size).
func randomChoice(_ *interpreter, a arguments) value {
	dt := shadow.Int64
	h, array := a.or(0, "a", nil).(*hostTensor)
	if array {
		dt = h.dtype
	}
	size := a.or(1, "size", nil)
	d := numbersOf(size)
	if n, ok := size.(int); ok {
		d = []int{n}
	}
	if _, number := a.or(0, "a", nil).(int); len(d) > 0 && (array || number) {
		return &hostTensor{size: d, dtype: dt}
	}
	if n, number := a.or(0, "a", nil).(int); number && size == nil {
		return placeIn(0, n-1)
	}
	return unknown{}
}

// permuted implements numpy.random.permutation of a number or an array.
func permuted(_ *interpreter, a arguments) value {
	switch v := a.or(0, "x", nil).(type) {
	case int:
		return &hostTensor{size: []int{v}, dtype: shadow.Int64}
	case *hostTensor:
		return v
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
	var samples []*hostTensor
	for _, v := range l.items {
		h, ok := v.(*hostTensor)
		if !ok || len(h.size) == 0 {
			return unknown{}
		}
		samples = append(samples, h)
		longest, dt = max(longest, h.size[0]), h.dtype
	}
	size := []int{longest, len(l.items)}
	if first, ok := a.or(1, "batch_first", false).(bool); ok && first {
		size = []int{len(l.items), longest}
	}
	return &hostTensor{size: append(size, samples[0].size[1:]...), dtype: dt, loose: padded(samples)}
}

// arrayRange implements numpy.arange, whose floating-point numbers have 64 bits.
func arrayRange(in *interpreter, a arguments) value {
	v := made("arange")(in, a)
	_, typed := a.get(-1, "dtype")
	if h, ok := v.(*hostTensor); ok && !typed && slices.ContainsFunc(append(a.pos, a.named...), isFloat) {
		h.dtype = shadow.Float64
	}
	return v
}

func isFloat(v value) bool {
	_, ok := v.(float64)
	return ok
}
