// SPDX-License-Identifier: Apache-2.0

package script

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Python's math module, and builtins that compute with numbers. Scripts compute the sizes of their layers with them.

func registerNumbers() {
	for name, f := range map[string]func(float64) float64{
		"sqrt": math.Sqrt, "exp": math.Exp, "log2": math.Log2, "log10": math.Log10, "log1p": math.Log1p, "expm1": math.Expm1,
		"sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "tanh": math.Tanh, "fabs": math.Abs,
	} {
		natives["math."+name] = func(_ *interpreter, a arguments) value {
			x, ok := asFloat(a.or(0, "", nil))
			return finite(f(x), ok)
		}
	}
	for name, f := range map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc} {
		natives["math."+name] = func(_ *interpreter, a arguments) value {
			x, ok := asFloat(a.or(0, "", nil))
			return wholeNumber(f(x), ok)
		}
	}
	natives["math.log"] = func(_ *interpreter, a arguments) value {
		x, ok := asFloat(a.or(0, "", nil))
		base, known := asFloat(a.or(1, "", math.E))
		return finite(math.Log(x)/math.Log(base), ok && known)
	}
	natives["math.pow"] = func(_ *interpreter, a arguments) value {
		x, ok := asFloat(a.or(0, "", nil))
		y, known := asFloat(a.or(1, "", nil))
		return finite(math.Pow(x, y), ok && known)
	}
	natives["math.prod"] = productOf
	natives["math.gcd"] = greatestDivisor
	natives["builtins.abs"] = absolute
	natives["builtins.round"] = rounded
	natives["builtins.sorted"] = sorted
	natives["builtins.divmod"] = func(in *interpreter, a arguments) value {
		x, y := a.or(0, "", nil), a.or(1, "", nil)
		return &list{tuple: true, items: []value{in.binary("//", x, y), in.binary("%", x, y)}}
	}
}

// asFloat returns a number as a float.
func asFloat(v value) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		return float64(asInt(v)), true
	}
	return 0, false
}

// finite returns a result that is known and is a number.
func finite(x float64, known bool) value {
	if !known || math.IsNaN(x) || math.IsInf(x, 0) {
		return unknown{}
	}
	return x
}

// wholeNumber returns a result as an int.
func wholeNumber(x float64, known bool) value {
	if !known || math.IsNaN(x) || math.Abs(x) >= 1<<53 {
		return unknown{}
	}
	return int(x)
}

// productOf implements math.prod(…).
func productOf(in *interpreter, a arguments) value {
	var out value = a.or(-1, "start", 1)
	for _, v := range in.items(a.or(0, "", nil), maxRange) {
		out = in.binary("*", out, v)
		drop(v)
	}
	return out
}

// greatestDivisor implements math.gcd(a, b).
func greatestDivisor(_ *interpreter, a arguments) value {
	x, ok := a.or(0, "", nil).(int)
	y, known := a.or(1, "", nil).(int)
	if !ok || !known {
		return unknown{}
	}
	for y != 0 {
		x, y = y, x%y
	}
	return max(x, -x)
}

// absolute implements abs(…).
func absolute(_ *interpreter, a arguments) value {
	switch v := a.or(0, "", nil).(type) {
	case int:
		return max(v, -v)
	case float64:
		return math.Abs(v)
	}
	return unknown{}
}

// rounded implements round(x, ndigits), which rounds halves to the even neighbor.
func rounded(_ *interpreter, a arguments) value {
	digits, given := a.or(1, "ndigits", nil).(int)
	switch v := a.or(0, "", nil).(type) {
	case int:
		return v
	case float64:
		if !given {
			return wholeNumber(math.RoundToEven(v), true)
		}
		scale := math.Pow(10, float64(digits))
		return finite(math.RoundToEven(v*scale)/scale, true)
	}
	return unknown{}
}

// sorted implements sorted(…) of known numbers or strings. A list of anything else keeps its order, as does one that a
// function orders.
func sorted(in *interpreter, a arguments) value {
	v := toList(in, a)
	l, ok := v.(*list)
	if !ok {
		return v
	}
	if key, _ := a.get(-1, "key"); key == nil && allComparable(l.items) {
		slices.SortStableFunc(l.items, compareKnown)
	}
	if down, _ := a.or(-1, "reverse", false).(bool); down {
		slices.Reverse(l.items)
	}
	return l
}

// allComparable reports whether all values are known numbers, or all are strings.
func allComparable(vs []value) bool {
	texts := 0
	for _, v := range vs {
		if _, ok := v.(string); ok {
			texts++
		} else if _, ok := asFloat(v); !ok {
			return false
		}
	}
	return texts == 0 || texts == len(vs)
}

// compareKnown compares two known numbers or two strings.
func compareKnown(a, b value) int {
	if s, ok := a.(string); ok {
		other, _ := b.(string)
		return strings.Compare(s, other)
	}
	x, _ := asFloat(a)
	y, _ := asFloat(b)
	return cmp.Compare(x, y)
}
