// SPDX-License-Identifier: Apache-2.0

package script

import (
	"slices"
	"snug/internal/shadow"
)

// Tensors on the card: operators, attributes, methods. Results have a reference for the caller. Other methods are
// in tensor_methods.go, indexing is in indexing.go, and tensors on the host are in host.go.

// tensorOperation returns l op r if one of them is a tensor.
func (in *interpreter) tensorOperation(op string, l, r value) (value, bool) {
	l, r = offCard(l), offCard(r)
	a, okA := l.(*shadow.Tensor)
	b, okB := r.(*shadow.Tensor)
	switch {
	case okA && okB:
		return in.pair(op, a, b), true
	case (okA || okB) && op == "@": // the other one is a tensor too, of unknown shape
		return unknown{}, true
	case okA:
		return scalarOperation(op, a, false).Hold(), true
	case okB:
		return scalarOperation(op, b, true).Hold(), true
	}
	return in.hostOperation(op, l, r)
}

func (in *interpreter) pair(op string, a, b *shadow.Tensor) value {
	switch op {
	case "+":
		return a.Add(b).Hold()
	case "-":
		return a.Sub(b).Hold()
	case "*":
		return a.Mul(b).Hold()
	case "/":
		return a.Div(b).Hold()
	case "@":
		return product(a, b).Hold()
	case "&", "|", "^":
		return a.And(b).Hold()
	case "**":
		if !a.RequiresGrad() && !b.RequiresGrad() || !in.World.GradEnabled() {
			return a.PowBy(b).Hold()
		}
	case "%", "//":
		return a.Plain("remainder", a.DType()).Hold()
	}
	in.note("the operator %s on tensors is not followed", op)
	return unknown{}
}

// scalarOperation applies an operator to a tensor and a number.
func scalarOperation(op string, t *shadow.Tensor, reversed bool) *shadow.Tensor {
	switch op {
	case "+":
		return t.AddScalar()
	case "-":
		if reversed {
			return t.RSubScalar()
		}
		return t.AddScalar()
	case "**":
		return t.Pow()
	case "/":
		if reversed {
			return t.Reciprocal().MulScalar()
		}
		if !t.DType().Floating() {
			return t.Plain("div", shadow.Float32)
		}
	case "%", "//", "&", "|", "^":
		return t.Plain("remainder", t.DType())
	}
	return t.MulScalar()
}

// tensorComparison returns l op r if one of them is a tensor.
func (in *interpreter) tensorComparison(op string, l, r value) (value, bool) {
	a, okA := l.(*shadow.Tensor)
	b, okB := r.(*shadow.Tensor)
	switch {
	case okA && okB:
		return a.CompareWith(op, b).Hold(), true
	case okA:
		return a.Compare(op).Hold(), true
	case okB:
		return b.Compare(op).Hold(), true
	}
	return hostComparison(l, r)
}

func (in *interpreter) tensorAttr(t *shadow.Tensor, name string) (value, bool) {
	switch name {
	case "shape":
		return sizeOf(t), true
	case "device":
		if !t.Here() {
			return "cpu", true
		}
		return "cuda", true
	case "dtype":
		return dtypeValue(t.DType()), true
	case "requires_grad":
		return t.RequiresGrad(), true
	case "ndim":
		return t.Dim(), true
	case "is_cuda":
		return true, true
	case "T":
		return t.T().Hold(), true
	case "data":
		in.data = dataOf{t.Detach(), t}
		return in.data.data.Hold(), true
	case "grad":
		if t.Grad() == nil {
			return nil, true
		}
		return t.Grad().Hold(), true
	}
	return nil, false
}

func sizeOf(t *shadow.Tensor) sizeValue {
	out := make(sizeValue, t.Dim())
	for i := range out {
		out[i] = t.Size(i)
	}
	return out
}

func (in *interpreter) setTensorAttr(t *shadow.Tensor, name string, v value) {
	switch name {
	case "requires_grad":
		if on, ok := v.(bool); ok {
			t.SetTrained(on)
		}
	case "grad":
		if g, ok := v.(*shadow.Tensor); ok {
			g.Hold()
			t.TakeGrad().Drop()
			t.SetGrad(g)
		} else if v == nil {
			t.TakeGrad().Drop()
		}
	case "data":
		switch to := v.(type) {
		case *shadow.Tensor:
			t.SetData(to)
		case *hostTensor:
			if t.Here() {
				in.note("a tensor's data is replaced with values from the host; its memory is counted as before")
			}
		}
	}
}

// tensorMethods holds the methods of a tensor on the card.
var tensorMethods map[string]func(in *interpreter, t *shadow.Tensor, a arguments) value

// registerMethods fills the table of methods.
func registerMethods() {
	plain := func(f func(*shadow.Tensor) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
		return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return f(t).Hold() }
	}
	itself := func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Hold() }
	host := func(_ *interpreter, t *shadow.Tensor, _ arguments) value {
		return &hostTensor{size: sizeOf(t), dtype: t.DType()}
	}
	read := func(_ *interpreter, t *shadow.Tensor, _ arguments) value { t.Item(); return unknown{} }
	tensorMethods = map[string]func(*interpreter, *shadow.Tensor, arguments) value{
		"to": tensorTo, "type": tensorTo,
		"register_post_accumulate_grad_hook": afterGrad,
		"cuda":                               itself, "requires_grad_": requiresGrad, "retain_grad": itself, "data_ptr": read,
		"cpu": host, "numpy": host, "tolist": read, "item": read, "__float__": read,
		"float":      plain((*shadow.Tensor).Float),
		"half":       plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Float16) }),
		"bfloat16":   plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.BFloat16) }),
		"long":       plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Int64) }),
		"bool":       plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Bool) }),
		"detach":     plain((*shadow.Tensor).Detach),
		"clone":      plain((*shadow.Tensor).Clone),
		"contiguous": tensorContiguous,
		"neg":        plain((*shadow.Tensor).Neg), "exp": plain((*shadow.Tensor).Exp),
		"tanh": plain((*shadow.Tensor).Tanh), "sigmoid": plain((*shadow.Tensor).Sigmoid), "relu": plain((*shadow.Tensor).ReLU),

		"t":    plain((*shadow.Tensor).T),
		"mean": tensorReduce((*shadow.Tensor).Mean), "sum": tensorSum,
		"view": tensorView((*shadow.Tensor).View), "reshape": tensorView((*shadow.Tensor).Reshape),
		"size": tensorSize, "dim": func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Dim() },
		"numel":     func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Numel() },
		"transpose": tensorTranspose, "permute": tensorPermute,
		"unsqueeze": tensorDim((*shadow.Tensor).Unsqueeze), "squeeze": tensorSqueeze,
		"flatten":  tensorFlatten,
		"argmax":   tensorArgmax,
		"backward": tensorBackward,
		"softmax":  tensorSoftmax((*shadow.Tensor).Softmax), "log_softmax": tensorSoftmax((*shadow.Tensor).LogSoftmax),
		"add": other("+"), "sub": other("-"), "mul": other("*"), "div": other("/"), "matmul": other("@"), "mm": other("@"),
		"eq": comparing("=="), "ne": comparing("!="), "lt": comparing("<"), "gt": comparing(">"),
		"copy_": writes, "zero_": writes, "fill_": writes, "fill_diagonal_": writes,
		"lerp_": writes, "clamp_": writes, "normal_": writes, "uniform_": writes,
		"new_zeros": newLike, "new_ones": newLike,

		"masked_fill": maskedFill, "chunk": chunks, "expand": expands, "pow": scalar("**"),
	}
	registerTensorMethods()
	registerMoreMethods()
}

func requiresGrad(_ *interpreter, t *shadow.Tensor, a arguments) value {
	on, ok := a.or(0, "requires_grad", true).(bool)
	t.SetTrained(on || !ok)
	return t.Hold()
}

// tensorTo implements t.to(…): another dtype, or the host.
func tensorTo(_ *interpreter, t *shadow.Tensor, a arguments) value {
	device, dt := destination(a)
	if device == "cpu" {
		return &hostTensor{size: sizeOf(t), dtype: t.DType()}
	}
	if dt != shadow.None {
		t = t.To(dt)
	}
	if wantsLast(a) {
		return t.ToLast().Hold()
	}
	return t.Hold()
}

// wantsLast reports whether the argument memory_format is torch.channels_last.
func wantsLast(a arguments) bool {
	return a.or(-1, "memory_format", nil) == namespace("torch.channels_last")
}

// tensorContiguous implements t.contiguous(memory_format).
func tensorContiguous(_ *interpreter, t *shadow.Tensor, a arguments) value {
	if wantsLast(a) || a.or(0, "", nil) == namespace("torch.channels_last") {
		return t.ContiguousLast().Hold()
	}
	return t.Contiguous().Hold()
}

// memoryFormats are the values of the argument memory_format.
var memoryFormats = map[namespace]bool{"torch.channels_last": true, "torch.channels_last_3d": true, "torch.contiguous_format": true, "torch.preserve_format": true}

// destination returns the device and dtype passed to .to(…); "" and None if not given.
func destination(a arguments) (device string, dt shadow.DType) {
	for _, v := range append(append([]value(nil), a.pos...), a.named...) {
		switch v := v.(type) {
		case string:
			device = deviceKind(v)
		case dtypeValue:
			dt = shadow.DType(v)
		case int:
			device = "cuda"
		case *shadow.Tensor:
			device, dt = "cuda", v.DType()
		case unknown, *bound:
			if device == "" {
				device = "cuda"
			}
		case namespace:
			if device == "" && !memoryFormats[v] {
				device = "cuda"
			}
		}
	}
	return device, dt
}

// deviceAttr returns an attribute of a torch.device, which is represented by its name.
func deviceAttr(device, name string) (value, bool) {
	if name == "type" {
		return deviceKind(device), true
	}
	return nil, false
}

func deviceKind(name string) string {
	if len(name) >= 3 && name[:3] == "cpu" {
		return "cpu"
	}
	return "cuda"
}

func tensorReduce(f func(t *shadow.Tensor, keep bool, dims ...int) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(_ *interpreter, t *shadow.Tensor, a arguments) value {
		keep, _ := a.or(-1, "keepdim", false).(bool)
		return f(t, keep, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
	}
}

// dimsOf returns the dimensions of a reduction of a tensor with n of them, in order, or all of them if none are given.
func dimsOf(v value, n int) []int {
	switch v := v.(type) {
	case int:
		return []int{v}
	case *list:
		var out []int
		for _, x := range v.items {
			if d, ok := x.(int); ok && d < 0 {
				out = append(out, d+n)
			} else if ok {
				out = append(out, d)
			}
		}
		if slices.Sort(out); len(out) > 0 {
			return out
		}
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// sizes returns the sizes passed to a view, separately or as one value, or nil if one is unknown.
func sizes(a arguments) []int {
	vs := a.pos
	if len(vs) == 1 {
		switch v := vs[0].(type) {
		case *list:
			vs = v.items
		case sizeValue:
			return v
		}
	}
	out := []int{}
	for _, v := range vs {
		n, ok := v.(int)
		if !ok {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func tensorView(f func(t *shadow.Tensor, d ...int) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		d := inferred(sizes(a), t.Numel())
		if d == nil {
			in.note("the shape of this view is not known")
			return t.Hold()
		}
		return f(t, d...).Hold()
	}
}

// inferred resolves -1 in the sizes, and returns nil if they do not match.
func inferred(d []int, numel int) []int {
	known, at := 1, -1
	out := append([]int(nil), d...)
	for i, n := range out {
		if n < 0 {
			at = i
			continue
		}
		known *= n
	}
	if at >= 0 && known > 0 && numel%known == 0 {
		out[at] = numel / known
		known = numel
	}
	if len(d) == 0 || known != numel {
		return nil
	}
	return out
}

func tensorSize(_ *interpreter, t *shadow.Tensor, a arguments) value {
	if i, ok := a.or(0, "dim", nil).(int); ok && i < t.Dim() && i >= -t.Dim() {
		return t.Size(i)
	}
	return sizeOf(t)
}

func tensorTranspose(in *interpreter, t *shadow.Tensor, a arguments) value {
	d := sizes(a)
	if len(d) != 2 {
		return in.lost(t, "transpose")
	}
	return t.Transpose(d[0], d[1]).Hold()
}

func tensorPermute(in *interpreter, t *shadow.Tensor, a arguments) value {
	d := sizes(a)
	if len(d) != t.Dim() {
		return in.lost(t, "permute")
	}
	return t.Permute(d...).Hold()
}

func tensorDim(f func(t *shadow.Tensor, i int) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		i, ok := a.or(0, "dim", 0).(int)
		if !ok {
			return in.lost(t, "this view")
		}
		return f(t, i).Hold()
	}
}

func tensorSqueeze(_ *interpreter, t *shadow.Tensor, a arguments) value {
	if a.or(0, "dim", nil) == nil { // every dimension of size 1
		out := t.Alias().Hold()
		for i := t.Dim() - 1; i >= 0; i-- {
			if t.Size(i) == 1 {
				next := out.Squeeze(i).Hold()
				out.Drop()
				out = next
			}
		}
		return out
	}
	if i, ok := a.or(0, "dim", nil).(int); ok && t.Size(i) == 1 {
		return t.Squeeze(i).Hold()
	}
	return t.Alias().Hold()
}

func tensorFlatten(_ *interpreter, t *shadow.Tensor, a arguments) value {
	from, _ := a.or(0, "start_dim", 0).(int)
	to, _ := a.or(1, "end_dim", -1).(int)
	if to < 0 {
		to += t.Dim()
	}
	if from < 0 {
		from += t.Dim()
	}
	if t.Dim() == 0 {
		return t.Reshape(1).Hold()
	}
	d := append(sizeValue(nil), sizeOf(t)[:from]...)
	n := 1
	for i := from; i <= to; i++ {
		n *= t.Size(i)
	}
	d = append(append(d, n), sizeOf(t)[to+1:]...)
	return t.Reshape(d...).Hold()
}

// tensorArgmax implements t.argmax(dim).
func tensorArgmax(_ *interpreter, t *shadow.Tensor, a arguments) value {
	keep, _ := a.or(1, "keepdim", false).(bool)
	if i, ok := a.or(0, "dim", nil).(int); ok {
		return t.Argmax(keep, i).Hold()
	}
	return t.Argmax(false).Hold()
}

func tensorSoftmax(f func(t *shadow.Tensor, dt shadow.DType) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		dt, _ := a.or(-1, "dtype", dtypeValue(shadow.None)).(dtypeValue)
		return f(t, shadow.DType(dt)).Hold()
	}
}

func other(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		return in.binary(op, t, a.or(0, "other", 1))
	}
}

func scalar(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return scalarOperation(op, t, false).Hold() }
}

func comparing(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		v, _ := in.tensorComparison(op, t, a.or(0, "other", 0))
		return v
	}
}

// writes implements methods that modify a tensor in place and allocate nothing, such as scatter_ and index_add_.
// The method tables here and in tensor_methods.go list them.
func writes(in *interpreter, t *shadow.Tensor, _ arguments) value {
	in.World.Op("in place")
	return t.Hold()
}

func newLike(in *interpreter, t *shadow.Tensor, a arguments) value {
	in.World.Op("new")
	dt := t.DType()
	if d, ok := a.or(-1, "dtype", nil).(dtypeValue); ok {
		dt = shadow.DType(d)
	}
	return in.World.Empty(shadow.Dims(sizes(a)...), dt).Hold()
}

func maskedFill(in *interpreter, t *shadow.Tensor, a arguments) value {
	if m, ok := a.or(0, "mask", nil).(*shadow.Tensor); ok {
		return t.MaskedFill(m).Hold()
	}
	return in.lost(t, "masked_fill")
}

func chunks(in *interpreter, t *shadow.Tensor, a arguments) value {
	n, ok := a.or(0, "chunks", nil).(int)
	if !ok || n < 1 {
		return in.lost(t, "chunk")
	}
	dim, _ := a.or(1, "dim", 0).(int)
	out := &list{tuple: true}
	for _, p := range t.Chunk(n, dim) {
		out.items = append(out.items, p.Hold())
	}
	return out
}

func expands(in *interpreter, t *shadow.Tensor, a arguments) value {
	d := sizes(a)
	if d == nil {
		return in.lost(t, "expand")
	}
	for i, n := range d {
		if n < 0 {
			d[i] = t.Size(i - len(d))
		}
	}
	return t.Expand(d...).Hold()
}

// lost adds a note that an op is not followed, and returns the tensor itself as its result.
func (in *interpreter) lost(t *shadow.Tensor, op string) value {
	in.note("%s is not followed here; it is assumed to allocate nothing", op)
	return t.Hold()
}

// tensorBackward implements loss.backward().
func tensorBackward(in *interpreter, t *shadow.Tensor, a arguments) value {
	if !t.RequiresGrad() {
		in.note("backward() of a tensor without a graph is skipped")
		return nil
	}
	in.mark(Backward)
	if inner, _ := a.or(-1, "_inner", false).(bool); !inner { // a backward pass of a part of a loss
		in.result.Backwards++
	}
	g, _ := a.or(0, "gradient", nil).(*shadow.Tensor)
	keeps, _ := a.or(1, "retain_graph", false).(bool)
	in.runGraphs()
	t.BackwardWith(g, keeps)
	in.freeGraphs()
	in.runAfterwards()
	in.forwards()
	return nil
}

// holdsTensor reports whether a value is, or contains, a tensor on the card.
func holdsTensor(v value) bool {
	var once visited
	return once.inside(v, func(x value) bool {
		switch x.(type) {
		case *shadow.Tensor, *network:
			return true
		}
		return false
	})
}
