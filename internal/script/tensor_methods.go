// SPDX-License-Identifier: Apache-2.0

package script

import (
	"snug/internal/shadow"
)

// More methods of tensors on the card, including the tensors saved for their gradients. The others are in
// tensors.go.

// anywhere lists the methods that tensors in host memory also support, because they use no memory.
var anywhere = map[string]bool{
	"requires_grad_": true, "numel": true, "nelement": true, "size": true, "dim": true, "is_floating_point": true, "element_size": true,
	"retain_grad": true, "register_hook": true, "data_ptr": true, "register_post_accumulate_grad_hook": true,
	"normal_": true, "uniform_": true, "zero_": true, "fill_": true, "copy_": true, "mul_": true, "add_": true, "div_": true,
}

// offCard returns a tensor in host memory as a host tensor.
func offCard(v value) value {
	if t, ok := v.(*shadow.Tensor); ok && !t.Here() {
		return &hostTensor{size: sizeOf(t), dtype: t.DType()}
	}
	return v
}

// writesInto implements o op= v: it reuses the memory, and records the op if gradients are enabled.
func (in *interpreter) writesInto(op string, o *shadow.Tensor, v value) {
	other, _ := v.(*shadow.Tensor)
	if other != nil && !other.Here() {
		other = nil
	}
	switch op {
	case "+", "-":
		o.AddInto(other)
	case "*":
		o.MulInto(other)
	case "/":
		o.MulInto(nil)
	default:
		in.World.Op(op + "=")
	}
}

func registerMoreMethods() {
	plain := func(f func(*shadow.Tensor) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
		return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return f(t).Hold() }
	}
	same := func(op string) func(*interpreter, *shadow.Tensor, arguments) value {
		return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Plain(op, t.DType()).Hold() }
	}
	bools := func(op string) func(*interpreter, *shadow.Tensor, arguments) value {
		return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Plain(op, shadow.Bool).Hold() }
	}
	into := func(op string) func(*interpreter, *shadow.Tensor, arguments) value {
		return func(in *interpreter, t *shadow.Tensor, a arguments) value {
			in.writesInto(op, t, a.or(0, "other", nil))
			return t.Hold()
		}
	}
	moved := func(op string) func(*interpreter, *shadow.Tensor, arguments) value {
		return func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Moved(op).Hold() }
	}
	for name, f := range map[string]func(*interpreter, *shadow.Tensor, arguments) value{
		"log": plain((*shadow.Tensor).Log), "log2": plain((*shadow.Tensor).Log), "log10": plain((*shadow.Tensor).Log), "log1p": plain((*shadow.Tensor).Log1p),
		"sqrt": plain((*shadow.Tensor).Sqrt), "rsqrt": plain((*shadow.Tensor).Rsqrt), "abs": plain((*shadow.Tensor).AbsGrad),
		"square": scalar("**"), "reciprocal": plain((*shadow.Tensor).Reciprocal), "expm1": plain((*shadow.Tensor).Exp),
		"cos": plain(func(t *shadow.Tensor) *shadow.Tensor { return t.Cosine("cos") }), "sin": plain(func(t *shadow.Tensor) *shadow.Tensor { return t.Cosine("sin") }),
		"sign": same("sign"), "sgn": same("sign"), "round": same("round"), "floor": same("floor"), "ceil": same("ceil"), "bernoulli": same("bernoulli"), "erf": same("erf"),
		"isnan": bools("isnan"), "isinf": isInfinite, "isfinite": bools("isfinite"), "logical_not": bools("logical_not"),
		"logical_and": logical, "logical_or": logical, "logical_xor": logical,
		"flip": moved("flip"), "roll": moved("roll"), "tril": moved("tril"), "triu": moved("triu"),
		"le": comparing("<="), "ge": comparing(">="),
		"int":    plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Int32) }),
		"double": plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Float64) }),
		"short":  plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Int16) }),
		"char":   plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.Int8) }),
		"byte":   plain(func(t *shadow.Tensor) *shadow.Tensor { return t.To(shadow.UInt8) }),
		"type_as": func(_ *interpreter, t *shadow.Tensor, a arguments) value {
			if o, ok := a.or(0, "other", nil).(*shadow.Tensor); ok {
				return t.To(o.DType()).Hold()
			}
			return t.Hold()
		},
		"nelement":     func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return t.Numel() },
		"element_size": func(_ *interpreter, t *shadow.Tensor, _ arguments) value { return int(t.DType().Bytes()) },
		"min":          tensorExtreme("min"), "max": tensorExtreme("max"), "amax": tensorAmax("amax"), "amin": tensorAmax("amin"), "argmin": tensorArgmax,
		"norm": tensorNorm, "logsumexp": tensorLogSumExp, "std": tensorSpread("std"), "var": tensorSpread("var"),
		"any": tensorAny, "all": tensorAny, "clamp": tensorClamp, "clip": tensorClamp, "nan_to_num": plain((*shadow.Tensor).NanToNum),
		"clamp_min": plain((*shadow.Tensor).ClampMin), "clamp_max": plain((*shadow.Tensor).ClampMin),
		"gather": gathers, "index_select": indexSelects, "repeat": repeats, "where": tensorWhere, "maximum": larger("maximum"), "minimum": larger("minimum"),
		"bmm": other("@"), "dot": dots, "topk": tensorTopK, "cumsum": tensorCumsum, "split": tensorSplit, "unbind": tensorUnbind,
		"repeat_interleave": tensorRepeatInterleave, "expand_as": tensorExpandAs, "view_as": tensorViewAs, "reshape_as": tensorViewAs,
		"add_": into("+"), "sub_": into("-"), "mul_": into("*"), "div_": into("/"), "masked_fill_": maskedFills,
		"relu_": plain((*shadow.Tensor).ReLUInPlace), "sigmoid_": activated("sigmoid"), "tanh_": activated("tanh"),
		"multinomial": multinomial, "nonzero": nonzeroOf,
		"addcmul_": writes, "addcdiv_": writes, "clamp_min_": writes, "sqrt_": writes, "log1p_": writes, "exp_": writes, "neg_": writes, "sign_": writes,
		"index_copy_": writes, "index_fill_": writes, "bernoulli_": writes, "random_": writes,
		"requires_grad": requiresGrad, "new_empty": newLike, "new_full": newFull, "new_tensor": newTensorLike, "subtract": other("-"), "multiply": other("*"), "divide": other("/"), "true_divide": other("/"),
		"argsort": tensorArgsort, "sort": tensorSort, "msort": tensorMsort, "swapaxes": tensorTranspose, "is_contiguous": func(*interpreter, *shadow.Tensor, arguments) value { return unknown{} },
		"softplus": plain((*shadow.Tensor).Softplus), "count_nonzero": tensorCount,
	} {
		tensorMethods[name] = f
	}
}

func logical(_ *interpreter, t *shadow.Tensor, a arguments) value {
	if o, ok := a.or(0, "other", nil).(*shadow.Tensor); ok {
		return t.CompareWith("logical_and", o).Hold()
	}
	return t.Compare("logical_and").Hold()
}

// tensorExtreme implements t.max(…) and t.min(…): of all elements, along a dimension, or with another tensor.
func tensorExtreme(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		if o, ok := a.or(0, "other", nil).(*shadow.Tensor); ok {
			return t.Extremum(op+"imum", o).Hold()
		}
		i, ok := a.or(0, "dim", nil).(int)
		if !ok {
			return t.ExtremeAll(op).Hold()
		}
		keep, _ := a.or(1, "keepdim", false).(bool)
		values, indices := t.Extreme(op, keep, i)
		return valuesAndIndices(values, indices)
	}
}

// valuesAndIndices returns the pair that max, topk and sort return.
func valuesAndIndices(values, indices *shadow.Tensor) value {
	pair := &dict{record: true, batch: true}
	pair.set("values", values.Hold())
	pair.set("indices", indices.Hold())
	return pair
}

func larger(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		if o, ok := a.or(0, "other", nil).(*shadow.Tensor); ok {
			return t.Extremum(op, o).Hold()
		}
		return in.lost(t, op)
	}
}

func tensorAmax(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(_ *interpreter, t *shadow.Tensor, a arguments) value {
		keep, _ := a.or(1, "keepdim", false).(bool)
		return t.Amax(op, keep, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
	}
}

func tensorNorm(in *interpreter, t *shadow.Tensor, a arguments) value {
	keep, _ := a.or(2, "keepdim", false).(bool)
	if p, ok := number(a.or(0, "p", 2)); ok && p != 2 && t.RequiresGrad() && in.World.GradEnabled() {
		in.note("the gradient of this norm is counted as if this were a 2-norm")
	}
	return t.NormOver(keep, dimsOf(a.or(1, "dim", nil), t.Dim())...).Hold()
}

func tensorLogSumExp(_ *interpreter, t *shadow.Tensor, a arguments) value {
	keep, _ := a.or(1, "keepdim", false).(bool)
	return t.LogSumExpOver(keep, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
}

func tensorSpread(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(_ *interpreter, t *shadow.Tensor, a arguments) value {
		keep, _ := a.or(-1, "keepdim", false).(bool)
		return t.Spread(op, keep, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
	}
}

func tensorAny(_ *interpreter, t *shadow.Tensor, a arguments) value {
	keep, _ := a.or(1, "keepdim", false).(bool)
	return t.Any(keep, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
}

func tensorCount(_ *interpreter, t *shadow.Tensor, a arguments) value {
	return t.Plain("ne", shadow.Bool).Sum(false, dimsOf(a.or(0, "dim", nil), t.Dim())...).Hold()
}

// tensorClamp implements t.clamp(min, max). With one bound, its gradient compares only once.
func tensorClamp(_ *interpreter, t *shadow.Tensor, a arguments) value {
	if a.or(0, "min", nil) != nil && a.or(1, "max", nil) != nil {
		return t.Clamp().Hold()
	}
	return t.ClampMin().Hold()
}

func gathers(in *interpreter, t *shadow.Tensor, a arguments) value {
	if index, ok := card(a, 1, "index"); ok {
		return t.Pick(index).Hold()
	}
	return in.lost(t, "gather")
}

func indexSelects(in *interpreter, t *shadow.Tensor, a arguments) value {
	dim, okD := a.or(0, "dim", nil).(int)
	if index, ok := card(a, 1, "index"); ok && okD {
		return t.IndexSelect(dim, index).Hold()
	}
	return in.lost(t, "index_select")
}

// repeats implements t.repeat(…), which copies.
func repeats(in *interpreter, t *shadow.Tensor, a arguments) value {
	times := sizes(a)
	if len(times) < t.Dim() || len(times) == 0 {
		return in.lost(t, "repeat")
	}
	return t.Repeat(times...).Hold()
}

func tensorWhere(in *interpreter, t *shadow.Tensor, a arguments) value {
	cond, ok := card(a, 0, "condition")
	if !ok {
		return in.lost(t, "where")
	}
	if o, ok := card(a, 1, "other"); ok {
		return shadow.WhereGrad(cond, t, o).Hold()
	}
	return shadow.Where(cond, t).Hold()
}

// dots implements t.dot(o) for two vectors.
func dots(in *interpreter, t *shadow.Tensor, a arguments) value {
	o, ok := card(a, 0, "other")
	if !ok {
		return in.lost(t, "dot")
	}
	return t.Dot(o).Hold()
}

func tensorTopK(in *interpreter, t *shadow.Tensor, a arguments) value {
	k, ok := a.or(0, "k", nil).(int)
	if !ok {
		return in.lost(t, "topk")
	}
	values, indices := t.TopK(k)
	in.learn(indices, contents{kind: choices, value: float64(t.Size(-1)), routed: true})
	return valuesAndIndices(values, indices)
}

// sortedAlong sorts along the argument dim, by default the last dimension. Of sort(stable, dim), stable is a keyword.
func sortedAlong(t *shadow.Tensor, a arguments) (values, indices *shadow.Tensor, ok bool) {
	dim, ok := a.or(0, "dim", -1).(int)
	if !ok || t.Dim() > 0 && (dim >= t.Dim() || dim < -t.Dim()) {
		return nil, nil, false
	}
	values, indices = t.SortAlong(dim)
	return values, indices, true
}

func tensorSort(in *interpreter, t *shadow.Tensor, a arguments) value {
	values, indices, ok := sortedAlong(t, a)
	if !ok {
		return in.lost(t, "sort")
	}
	return valuesAndIndices(values, indices)
}

// tensorMsort implements torch.msort, which sorts along the first dimension.
func tensorMsort(in *interpreter, t *shadow.Tensor, _ arguments) value {
	values, indices, ok := sortedAlong(t, arguments{pos: []value{0}})
	if !ok {
		return in.lost(t, "msort")
	}
	indices.Hold().Drop()
	return values.Hold()
}

func tensorArgsort(in *interpreter, t *shadow.Tensor, a arguments) value {
	values, indices, ok := sortedAlong(t, a)
	if !ok {
		return in.lost(t, "argsort")
	}
	values.Hold().Drop()
	return indices.Hold()
}

func tensorCumsum(_ *interpreter, t *shadow.Tensor, a arguments) value {
	dim, _ := a.or(0, "dim", -1).(int)
	if !t.DType().Floating() {
		return t.Cumsum().Hold()
	}
	return t.CumsumDim(dim).Hold()
}

// tensorSplit implements t.split(size or sizes, dim).
func tensorSplit(in *interpreter, t *shadow.Tensor, a arguments) value {
	dim, _ := a.or(1, "dim", 0).(int)
	var parts []int
	switch s := a.or(0, "split_size", nil).(type) {
	case int:
		for left := t.Size(dim); s > 0 && left > 0; left -= s {
			parts = append(parts, min(s, left))
		}
	case *list:
		parts = ints(s.items)
	}
	if len(parts) == 0 {
		return in.lost(t, "split")
	}
	return tensorTuple(t.Split(dim, parts...))
}

func tensorUnbind(_ *interpreter, t *shadow.Tensor, a arguments) value {
	dim, _ := a.or(0, "dim", 0).(int)
	return tensorTuple(t.Unbind(dim))
}

func tensorTuple(ts []*shadow.Tensor) value {
	out := &list{tuple: true}
	for _, t := range ts {
		out.items = append(out.items, t.Hold())
	}
	return out
}

func tensorRepeatInterleave(in *interpreter, t *shadow.Tensor, a arguments) value {
	n, ok := a.or(0, "repeats", nil).(int)
	dim, okD := a.or(1, "dim", nil).(int)
	if !ok || !okD {
		return in.lost(t, "repeat_interleave")
	}
	return t.RepeatInterleave(n, dim).Hold()
}

func tensorExpandAs(in *interpreter, t *shadow.Tensor, a arguments) value {
	o, ok := a.or(0, "other", nil).(*shadow.Tensor)
	if !ok {
		return in.lost(t, "expand_as")
	}
	return t.ExpandAs(o.Shape()).Hold()
}

func tensorViewAs(in *interpreter, t *shadow.Tensor, a arguments) value {
	o, ok := a.or(0, "other", nil).(*shadow.Tensor)
	if !ok {
		return in.lost(t, "view_as")
	}
	return t.ReshapeAs(o.Shape()).Hold()
}

func maskedFills(in *interpreter, t *shadow.Tensor, a arguments) value {
	if m, ok := card(a, 0, "mask"); ok {
		t.MaskedFillInto(m)
	}
	return t.Hold()
}

func newFull(in *interpreter, t *shadow.Tensor, a arguments) value {
	l, ok := a.or(0, "size", nil).(*list)
	if !ok {
		return in.lost(t, "new_full")
	}
	in.World.Op("new")
	return in.World.Empty(shadow.Dims(ints(l.items)...), t.DType()).Hold()
}

func newTensorLike(in *interpreter, t *shadow.Tensor, a arguments) value {
	with := arguments{pos: a.pos, names: append(a.names, "device"), named: append(a.named, "cuda")}
	return newTensor(in, with)
}
