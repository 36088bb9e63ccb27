// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"math/bits"

	"snug/internal/pysrc"
	"snug/internal/units"
)

var tooLarge = Rule{
	Code: "SNG403", Name: "too-large",
	Title:    "a tensor is larger than any GPU",
	Why:      "The sizes are written in the source, so the product can be computed before anything runs. No single card has more than 288 GB.",
	Evidence: "Computed from the literal sizes and the type.",
	Bad:      "logits = torch.zeros(64, 32768, 128256, device=\"cuda\")\n",
	Good:     "logits = torch.zeros(2, 2048, 128256, device=\"cuda\")\n",
	InTests:  true,
	check:    checkSizes,
}

// largestCard is the memory of the largest GPU, in bytes.
const largestCard = 288_000_000_000

func checkSizes(m *module, r *reporter) {
	for _, f := range m.functions {
		for _, c := range f.calls {
			if !makesTensor(c.name) || !onCard(c.Call) {
				continue
			}
			if n, ok := f.bytesOf(c); ok && n > largestCard {
				r.add(c.At(), "this tensor takes %s, more than any GPU has", units.Bytes(n))
			}
		}
	}
}

func makesTensor(name string) bool {
	switch name {
	case "torch.zeros", "torch.ones", "torch.empty", "torch.rand", "torch.randn", "torch.full":
		return true
	}
	return false
}

// onCard reports whether a tensor is created on a GPU.
func onCard(c *pysrc.Call) bool {
	d, ok := text(argument(c, "device"))
	return ok && hasWord(d, "cuda")
}

// bytesOf returns the size in bytes of a tensor whose dimensions are all known.
func (f *function) bytesOf(c *call) (uint64, bool) {
	sizes := positional(c.Call)
	if len(sizes) > 0 {
		if list := elements(sizes[0]); list != nil {
			sizes = list
		} else if c.name == "torch.full" {
			return 0, false
		}
	}
	n := typeBytes(lastOf(argument(c.Call, "dtype")))
	for _, e := range sizes {
		size, ok := f.number(e, c.At(), 0)
		if !ok || size < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(n, uint64(size))
		if hi != 0 {
			return 1 << 63, true
		}
		n = lo
	}
	return n, len(sizes) > 1
}

func typeBytes(name string) uint64 {
	switch name {
	case "float64", "double", "int64", "long", "complex64":
		return 8
	case "float16", "bfloat16", "half", "int16", "short":
		return 2
	case "int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2":
		return 1
	}
	return 4
}

// number returns the value of an integer: a literal, a name that is assigned once, or a product or sum of these.
func (f *function) number(e pysrc.Expr, at pysrc.Pos, depth int) (int64, bool) {
	if depth > 8 {
		return 0, false
	}
	switch e := e.(type) {
	case *pysrc.Number:
		return e.Int, e.IsInt
	case *pysrc.Name:
		return f.constant(e.ID, at, depth)
	case *pysrc.Binary:
		l, okL := f.number(e.L, at, depth+1)
		r, okR := f.number(e.R, at, depth+1)
		return compute(e.Op, l, r, okL && okR && inRange(l) && inRange(r))
	}
	return 0, false
}

// constant returns the value of a name that is assigned once, here or in the module.
func (f *function) constant(name string, at pysrc.Pos, depth int) (int64, bool) {
	if f.params[name] || f.globals[name] {
		return 0, false
	}
	if list := f.assigns[name]; len(list) == 1 && list[0].element < 0 && list[0].op == "" && before(list[0].at, at) && list[0].place == f.top {
		return f.number(list[0].value, list[0].at, depth+1)
	}
	if top := f.functions[0]; f != top && len(f.assigns[name]) == 0 {
		return top.constant(name, pysrc.Pos{Line: 1 << 30}, depth+1)
	}
	return 0, false
}

// inRange reports whether the product of two numbers in this range fits into 64 bits.
func inRange(n int64) bool { return n >= 0 && n < 1<<31 }

func compute(op string, l, r int64, ok bool) (int64, bool) {
	switch {
	case !ok:
	case op == "*":
		return l * r, true
	case op == "+":
		return l + r, true
	case op == "-":
		return l - r, true
	case op == "//" && r > 0:
		return l / r, true
	case op == "<<" && r < 31:
		return l << r, true
	case op == "**" && r < 32 && l == 2:
		return 1 << r, true
	}
	return 0, false
}

var paddedToMaximum = Rule{
	Code: "SNG404", Name: "padded-to-maximum",
	Title:    "every sample is padded to a fixed length",
	Why:      "padding=\"max_length\" makes each batch as long as max_length, however short its samples are: activations and logits of padding take as much memory as those of real tokens. Padding to the longest sample in the batch (a data collator) takes less, but varying lengths fragment memory.",
	Evidence: "snug estimate --lengths shows both for your data.",
	Bad:      "tokenizer(texts, padding=\"max_length\", max_length=512, truncation=True)\n",
	Good:     "tokenizer(texts, max_length=512, truncation=True)\n",
	Optional: true,
	check:    checkPadding,
}

func checkPadding(m *module, r *reporter) {
	for _, f := range m.functions {
		for _, c := range f.calls {
			padding, _ := text(argument(c.Call, "padding"))
			if n, ok := argument(c.Call, "max_length").(*pysrc.Number); ok && padding == "max_length" {
				r.add(c.At(), "every sample is padded to %d tokens, however short it is; pad each batch to its longest sample with a data collator", n.Int)
			}
		}
	}
}
