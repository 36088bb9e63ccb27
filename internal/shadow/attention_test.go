// SPDX-License-Identifier: Apache-2.0

package shadow

import (
	"strings"
	"testing"

	"snug/internal/kernel"
)

// attention makes the arguments of an attention row.
func (p probe) attention(w *World) Attention {
	b, h, hk, sq, sk, d, dt := p.num("B"), p.num("H"), p.num("Hk"), p.num("Sq"), p.num("Sk"), p.num("D"), p.dtype("dt")
	leaf := func(h, s int) *Tensor {
		t := w.Empty(Dims(b, h, s, d), dt)
		if p.text("lay") == "bshd" {
			t.stride = bshd(t.size)
		}
		t.leaf, t.requiresGrad = true, true
		return t.Hold()
	}
	drop, _ := p.args["drop"].(float64)
	causal, _ := p.args["causal"].(bool)
	a := Attention{Query: leaf(h, sq), Key: leaf(hk, sk), Value: leaf(hk, sk), Dropout: drop, Causal: causal, GQA: h != hk}
	dims := map[string][3]int{"b1ss": {b, 1, sq}, "b1sse": {b, 1, 1}, "11ss": {1, 1, sq}, "bhss": {b, h, sq}, "1hss": {1, h, sq}, "bool": {b, 1, sq}, "boole": {b, 1, 1}, "bhssg": {b, h, sq}, "1hssg": {1, h, sq}}
	name := p.text("mask")
	if m, ok := dims[name]; ok {
		mt := dt
		if strings.HasPrefix(name, "bool") {
			mt = Bool
		}
		a.Mask = w.Empty(Dims(m[0], m[1], m[2], sk), mt)
		if strings.HasSuffix(name, "g") {
			a.Mask.leaf, a.Mask.requiresGrad = true, true
		}
		a.Mask.Hold()
		if m[2] == 1 {
			a.Mask = a.Mask.Expand(m[0], m[1], sq, sk).Hold()
		}
	}
	return a
}

var probeBackends = map[string]kernel.Backend{"cudnn": kernel.Cudnn, "eff": kernel.Efficient, "flash": kernel.Flash, "math": kernel.Math}

// older drops the frees of tensors that existed before the op.
func older(events string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(" "+events, " -x", " ")), " ")
}

func TestAttention(t *testing.T) {
	var choice, forward, backward tally
	chosen := []kernel.Backend{kernel.Math, kernel.Flash, kernel.Efficient, kernel.Cudnn} // indexed by PyTorch's own numbers
	for _, p := range probes(t) {
		if p.section != "attnf" && p.section != "attnb" {
			continue
		}
		w := hopper()
		w.cublas()
		a := p.attention(w)
		if p.section == "attnf" {
			if got := w.Rules.AttentionBackend(a.numbers()); got != chosen[p.num("choice")] {
				choice.bad++
				if choice.bad < 10 {
					t.Errorf("%v chooses %d", p, got)
				}
			}
		}
		if p.args["err"] != nil || p.text("be") == "math" {
			continue
		}
		var out *Tensor
		got := watchOp(w, func() {
			mark := w.pin()
			out = w.attend(probeBackends[p.text("be")], a).Hold()
			w.unpin(mark)
		})
		p.events = older(p.events)
		if p.section == "attnf" {
			forward.check(t, p, older(got))
			continue
		}
		if p.num("D")%8 != 0 {
			continue // with padded heads, the backward makes two more copies; no simulated model has padded heads
		}
		g := w.Empty(out.size, out.dtype)
		g.stride = bshd(g.size)
		got = older(watchOp(w, func() { w.backward(out, g) }))
		if strings.HasPrefix(got, p.events) { // then a leaf copies its gradient, which the recording does not contain
			got = p.events
		}
		backward.check(t, p, got)
	}
	forward.report(t)
	backward.report(t)
}
