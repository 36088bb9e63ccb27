// SPDX-License-Identifier: Apache-2.0

package script

import "snug/internal/shadow"

// Tensor methods that write to positions given by an index.

func registerScatter() {
	for name, f := range map[string]func(*interpreter, *shadow.Tensor, arguments) value{
		"scatter": scattering((*shadow.Tensor).Scatter), "scatter_add": scattering((*shadow.Tensor).ScatterAdd),
		"scatter_": scatteringInto("scatter"), "scatter_add_": scatteringInto("scatter_add"),
		"index_add": indexAdds, "index_add_": indexAddsInto, "lerp": lerps,
	} {
		tensorMethods[name] = f
	}
	natives["torch.baddbmm"] = baddbmm
	for _, name := range []string{"scatter", "scatter_add", "index_add", "lerp"} {
		natives["torch."+name] = onTensor(name)
	}
}

// source returns the values to write: nil for a number.
func source(a arguments, i int, names ...string) *shadow.Tensor {
	for _, name := range names {
		if t, ok := card(a, i, name); ok {
			return t
		}
	}
	return nil
}

// scattering implements t.scatter(dim, index, src or value).
func scattering(f func(t, index, source *shadow.Tensor) *shadow.Tensor) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(in *interpreter, t *shadow.Tensor, a arguments) value {
		index, ok := card(a, 1, "index")
		if !ok {
			return in.lost(t, "scatter")
		}
		return f(t, index, source(a, 2, "src", "value")).Hold()
	}
}

// scatteringInto implements t.scatter_(dim, index, src or value) and t.scatter_add_.
func scatteringInto(op string) func(*interpreter, *shadow.Tensor, arguments) value {
	return func(_ *interpreter, t *shadow.Tensor, a arguments) value {
		if index, ok := card(a, 1, "index"); ok {
			t.ScatterInto(op, index, source(a, 2, "src", "value"))
		}
		return t.Hold()
	}
}

// indexAdds implements t.index_add(dim, index, source).
func indexAdds(in *interpreter, t *shadow.Tensor, a arguments) value {
	index, okI := card(a, 1, "index")
	from, okS := card(a, 2, "source")
	if !okI || !okS {
		return in.lost(t, "index_add")
	}
	return t.IndexAdd(index, from).Hold()
}

// indexAddsInto implements t.index_add_(dim, index, source).
func indexAddsInto(_ *interpreter, t *shadow.Tensor, a arguments) value {
	index, okI := card(a, 1, "index")
	from, okS := card(a, 2, "source")
	if okI && okS {
		t.IndexAddInto(index, from)
	}
	return t.Hold()
}

// lerps implements t.lerp(end, weight).
func lerps(in *interpreter, t *shadow.Tensor, a arguments) value {
	end, ok := card(a, 0, "end")
	if !ok {
		return in.lost(t, "lerp")
	}
	if w, ok := card(a, 1, "weight"); ok && w.Dim() > 0 {
		in.note("lerp with a tensor as its weight is counted as if that were a number")
	}
	return t.Lerp(end).Hold()
}

// baddbmm implements torch.baddbmm(input, batch1, batch2).
func baddbmm(in *interpreter, a arguments) value {
	x, ok := card(a, 0, "input")
	first, okA := card(a, 1, "batch1")
	second, okB := card(a, 2, "batch2")
	if !ok || !okA || !okB {
		in.noteTensors("baddbmm", a)
		return unknown{}
	}
	if _, scaled := a.get(-1, "alpha"); scaled {
		return x.Baddbmm(first, second).Hold()
	}
	return x.AddBmm(first, second).Hold()
}
